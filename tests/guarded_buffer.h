// Memory for tests in which nothing goes unseen: a read past the end faults, a write before the start or behind the end
// shows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quire::test {

/// Bytes in pages of their own. They end as close to an inaccessible page as `alignment` lets them, and whatever lies
/// between them and the ends of their pages holds a pattern that canaries_intact() looks for. Pages start as zeros and
/// cost no memory until touched, so a buffer may be far larger than the machine. data() is null where the system
/// refuses even that, or where there are no bytes.
class GuardedBuffer {
 public:
  GuardedBuffer() = default;
  GuardedBuffer(size_t bytes, size_t alignment);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&& other) noexcept;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

  void fill(uint8_t byte);
  bool canaries_intact() const;
  /// While false, a write to the buffer faults.
  void set_writable(bool writable);

 private:
  std::byte* pages_ = nullptr;
  size_t page_bytes_ = 0;  // the inaccessible page included
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace quire::test
