// What a mistyped word may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quire::bench {

/// "; did you mean NEAREST?", or "" where no candidate is near: at most a third of the word's letters (and at least
/// one) inserted, dropped, replaced or swapped with their neighbour.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace quire::bench
