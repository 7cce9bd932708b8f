// How Quire reports failure: a Status, or a Result that holds a value or a Status.
// Nothing in the library throws, prints, exits or reads the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace quire {

enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument = 1,    // the caller's mistake: the message names field and value
  kUnsupported = 2,        // legal, but no implementation (or not this one) takes it
  kOutOfRange = 3,         // a length or block id in the data points outside the cache
  kWorkspaceTooSmall = 4,  // the message names the bytes given and needed
  kCudaError = 5,          // the message names the CUDA call and CUDA's own words
  kInternal = 6,           // a fault of Quire or of the machine (out of memory)
};

/// Returns the code's name as written in messages, such as "invalid_argument".
const char* name_of(StatusCode code) noexcept;

/// The outcome of a call. Holds no message and allocates nothing when ok.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const noexcept { return code_ == StatusCode::kOk; }
  StatusCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

/// Either a value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) {}

  bool ok() const noexcept { return value_.has_value(); }
  const Status& status() const noexcept { return status_; }

  /// The value; only when ok().
  T& value() noexcept { return *value_; }
  const T& value() const noexcept { return *value_; }
  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace quire
