// Numbers as the command line takes and shows them. Only a whole match counts, so that 0x20, 010, 3.5 and 3x2 are
// refused and not misread. Messages quote the text; the caller puts the flag before them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quire/status.h"

namespace quire::bench {

/// A whole number of at least `least`: decimal digits without leading zeros. A suffix k or m multiplies by 1024 or
/// 1024^2.
Result<int64_t> parse_whole(std::string_view text, int64_t least);

/// One number, or a range with both ends included where the steps meet them: a:b:xN multiplies by N, a:b:+N adds N.
Result<std::vector<int64_t>> parse_numbers(std::string_view text, int64_t least);

/// The most numbers one range may give.
inline constexpr int64_t kMaxRangeLength = 10'000;

/// A share written in percent, such as "1%" or "0.5%", more than 0 % and less than 100 %; returned as a fraction.
Result<double> parse_percent(std::string_view text);

/// Seconds: a decimal number more than 0, such as "20" or "0.5".
Result<double> parse_seconds(std::string_view text);

/// Bytes in three digits and a decimal unit, such as "16.8 MB".
std::string byte_text(double bytes);

}  // namespace quire::bench
