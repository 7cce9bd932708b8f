#include "bench/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace quire::bench {
namespace {

Status invalid(std::string_view text, const std::string& expected) {
  return {StatusCode::kInvalidArgument, "'" + std::string(text) + "' is not " + expected};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits alone: from_chars would take a minus sign, and leading zeros suggest octal.
std::optional<int64_t> digits(std::string_view text) {
  if (text.empty() || !is_digit(text.front()) || (text.front() == '0' && text.size() > 1)) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> whole(std::string_view text) {
  int64_t unit = 1;
  if (!text.empty()) {
    const char last = text.back();
    if (last == 'k' || last == 'K') unit = 1024;
    if (last == 'm' || last == 'M') unit = int64_t{1024} * 1024;
    if (unit > 1) text.remove_suffix(1);
  }
  const std::optional<int64_t> count = digits(text);
  int64_t value = 0;
  if (!count || __builtin_mul_overflow(*count, unit, &value)) return std::nullopt;
  return value;
}

// A decimal without sign or exponent.
std::optional<double> decimal(std::string_view text) {
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return std::nullopt;
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

struct Range {
  int64_t first, last, step;
  bool geometric;
};

std::optional<Range> parse_range(std::string_view text) {
  const size_t first_colon = text.find(':');
  const size_t second_colon = text.find(':', first_colon + 1);
  if (first_colon == std::string_view::npos || second_colon == std::string_view::npos) return std::nullopt;
  const std::string_view step = text.substr(second_colon + 1);
  if (step.empty() || (step.front() != 'x' && step.front() != '+')) return std::nullopt;
  const auto a = whole(text.substr(0, first_colon));
  const auto b = whole(text.substr(first_colon + 1, second_colon - first_colon - 1));
  const auto n = whole(step.substr(1));
  if (!a || !b || !n) return std::nullopt;
  return Range{*a, *b, *n, step.front() == 'x'};
}

}  // namespace

Result<int64_t> parse_whole(std::string_view text, int64_t least) {
  const std::optional<int64_t> value = whole(text);
  if (!value || *value < least) return invalid(text, "a whole number >= " + std::to_string(least));
  return *value;
}

Result<std::vector<int64_t>> parse_numbers(std::string_view text, int64_t least) {
  if (text.find(':') == std::string_view::npos) {
    const Result<int64_t> value = parse_whole(text, least);
    if (!value.ok()) return value.status();
    return std::vector<int64_t>{*value};
  }
  const std::optional<Range> range = parse_range(text);
  if (!range) return invalid(text, "a range a:b:xN or a:b:+N");
  if (range->first < least) return invalid(text, "a range from a whole number >= " + std::to_string(least));
  if (range->last < range->first) return invalid(text, "a range that rises");
  if (range->step < (range->geometric ? 2 : 1) || (range->geometric && range->first == 0)) {
    return invalid(text, range->geometric ? "a range with a factor >= 2 from 1 or more" : "a range with a step >= 1");
  }
  std::vector<int64_t> values;
  int64_t value = range->first;
  for (bool overflow = false; !overflow && value <= range->last;) {
    if (static_cast<int64_t>(values.size()) == kMaxRangeLength) {
      return invalid(text, "a range of at most " + std::to_string(kMaxRangeLength) + " numbers");
    }
    values.push_back(value);
    overflow = range->geometric ? __builtin_mul_overflow(value, range->step, &value)
                                : __builtin_add_overflow(value, range->step, &value);
  }
  return values;
}

Result<double> parse_percent(std::string_view text) {
  if (!text.empty() && text.back() == '%') {
    const std::optional<double> value = decimal(text.substr(0, text.size() - 1));
    if (value && *value > 0 && *value < 100) return *value / 100;
  }
  return invalid(text, "a percentage such as 1%");
}

Result<double> parse_seconds(std::string_view text) {
  const std::optional<double> value = decimal(text);
  if (!value || *value <= 0) return invalid(text, "a number of seconds > 0");
  return *value;
}

std::string byte_text(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2, units[unit]);
}

}  // namespace quire::bench
