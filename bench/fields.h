// The field table of Workload: one line a field gives its flag, JSON key, CSV column, header word and part of the repro
// command.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/workload.h"

namespace quire::bench {

struct Field {
  const char* name;  // as in C++, JSON, CSV and the table's header
  const char* flag;  // takes lists and ranges, all but the seed's
  const char* help;
  std::variant<int64_t Workload::*, uint64_t Workload::*, DType Workload::*, Layout Workload::*> member;
  int64_t least = 1;  // of a number

  bool is_number() const { return member.index() < 2; }
};

/// All fields the command line can set, in the order in which they are shown.
std::span<const Field> workload_fields();

/// The field of that name; null where there is none.
const Field* find_field(std::string_view name);

/// The value as its flag takes it.
std::string text_of(const Field& field, const Workload& workload);

/// Sets the field from one value. Errors quote the text, with a near match for a mistyped word.
Status set_field(const Field& field, Workload& workload, std::string_view text);

/// The values that one item of the flag's list stands for: a range gives several, anything else one, each checked.
Result<std::vector<std::string>> expand_values(const Field& field, std::string_view item);

/// "--batch-sizes 8 --seq-lens 2048 ...": every field, so that the command gives the same point under other defaults.
std::string flags_of(const Workload& workload);

const char* name_of(Layout layout);

}  // namespace quire::bench
