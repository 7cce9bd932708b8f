// Flags that several commands have, and how the text of a flag becomes a value.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "bench/flag_parser.h"
#include "bench/numbers.h"
#include "bench/options.h"

namespace quire::bench {

/// Headings of the help.
inline constexpr const char* kWhatRuns = "What runs";
inline constexpr const char* kOther = "Other";

Status usage_error(const std::string& message);
Status with_flag(const std::string& flag, const Status& status);

/// Puts what `parse` makes of a flag's text into `target`; leaves it alone where the flag was not given.
template <typename T, typename Parse>
Status read_flag(const std::string& flag, const std::optional<std::string>& text, Parse&& parse, T& target) {
  if (!text) return {};
  const auto value = parse(*text);
  if (!value.ok()) return with_flag(flag, value.status());
  target = *value;
  return {};
}

inline auto whole_from(int64_t least) {
  return [least](std::string_view text) { return parse_whole(text, least); };
}

/// The first status that is not ok; the steps behind it are not taken.
Status first_error(std::initializer_list<std::function<Status()>> steps);

/// The flags that say what runs, and with which threads.
struct RunFlags {
  std::vector<std::string> implementations;
  std::optional<std::string> device, threads, timeout;
  bool quiet = false;

  void add_implementations(FlagParser& parser, const std::string& help);
  void add_device(FlagParser& parser);
  void add_threads(FlagParser& parser);
  void add_timeout(FlagParser& parser);
  void add_quiet(FlagParser& parser);

  Status read_threads(int& count) const;
  Status read_into(RunOptions& options) const;
};

}  // namespace quire::bench
