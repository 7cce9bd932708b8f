#include "bench/fields.h"

#include <type_traits>

#include "bench/numbers.h"
#include "bench/suggest.h"

namespace quire::bench {
namespace {

const Field kFields[] = {
    {"batch_size", "--batch-sizes", "sequences in the batch", &Workload::batch_size},
    {"seq_len", "--seq-lens", "tokens each sequence attends to", &Workload::seq_len},
    {"num_heads", "--num-heads", "query heads", &Workload::num_heads},
    {"num_kv_heads", "--num-kv-heads", "KV heads; must divide the query heads", &Workload::num_kv_heads},
    {"head_dim", "--head-dim", "elements of one head", &Workload::head_dim},
    {"block_size", "--block-size", "tokens in one block of the cache", &Workload::block_size},
    {"dtype", "--dtype", "element type: fp16, bf16 or fp32", &Workload::dtype},
    {"kv_dtype", "--kv-dtype", "of the cache; default: as --dtype", &Workload::kv_dtype},
    {"layout", "--layout", "of a block: nhd (token, head) or hnd (head, token)", &Workload::layout},
    {"seed", "--seed", "of the random data and block placement", &Workload::seed, 0},
};

// The words of an enumeration.
template <typename E>
struct Word {
  const char* text;
  E value;
};
constexpr Word<DType> kDTypes[] = {{"fp16", DType::kF16}, {"bf16", DType::kBF16}, {"fp32", DType::kF32}};
constexpr Word<Layout> kLayouts[] = {{"nhd", Layout::kNhd}, {"hnd", Layout::kHnd}};

template <typename E>
std::span<const Word<E>> words() {
  if constexpr (std::is_same_v<E, DType>)
    return kDTypes;
  else
    return kLayouts;
}

template <typename E>
Result<E> parse_word(std::string_view text) {
  std::string known;
  std::vector<std::string> candidates;
  for (const Word<E>& word : words<E>()) {
    if (text == word.text) return word.value;
    known += (known.empty() ? "" : ", ") + std::string(word.text);
    candidates.emplace_back(word.text);
  }
  return Status(StatusCode::kInvalidArgument,
                "'" + std::string(text) + "' is not one of " + known + did_you_mean(text, candidates));
}

}  // namespace

std::span<const Field> workload_fields() { return kFields; }

const Field* find_field(std::string_view name) {
  for (const Field& field : kFields) {
    if (name == field.name) return &field;
  }
  return nullptr;
}

const char* name_of(Layout layout) { return layout == Layout::kNhd ? "nhd" : "hnd"; }

std::string text_of(const Field& field, const Workload& workload) {
  return std::visit(
      [&](auto member) -> std::string {
        const auto value = workload.*member;
        if constexpr (std::is_enum_v<std::remove_const_t<decltype(value)>>)
          return name_of(value);
        else
          return std::to_string(value);
      },
      field.member);
}

Status set_field(const Field& field, Workload& workload, std::string_view text) {
  return std::visit(
      [&](auto member) -> Status {
        using T = std::remove_reference_t<decltype(workload.*member)>;
        if constexpr (std::is_enum_v<T>) {
          const Result<T> value = parse_word<T>(text);
          if (!value.ok()) return value.status();
          workload.*member = *value;
        } else {
          const Result<int64_t> value = parse_whole(text, field.least);
          if (!value.ok()) return value.status();
          workload.*member = static_cast<T>(*value);
        }
        return {};
      },
      field.member);
}

Result<std::vector<std::string>> expand_values(const Field& field, std::string_view item) {
  std::vector<std::string> values;
  if (field.is_number()) {
    const Result<std::vector<int64_t>> numbers = parse_numbers(item, field.least);
    if (!numbers.ok()) return numbers.status();
    for (const int64_t number : *numbers) values.push_back(std::to_string(number));
  } else {
    Workload scratch;
    if (Status s = set_field(field, scratch, item); !s.ok()) return s;
    values.emplace_back(item);
  }
  return values;
}

std::string flags_of(const Workload& workload) {
  std::string flags;
  for (const Field& field : kFields) {
    if (!flags.empty()) flags += ' ';
    flags += std::string(field.flag) + ' ' + text_of(field, workload);
  }
  return flags;
}

}  // namespace quire::bench
