#include "bench/probes_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "bench/parallel.h"

namespace quire::bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Rounding of the normalisation (a reciprocal and a product, or partials normalised before their merge): eight units in
// the last place of fp32 at the size of the values, an eighth of one token among 131,072.
constexpr double kValueSlack = 0x1p-20;
// lse = maximum + ln(sum), the logarithm perhaps taken in base 2. One token among 131,072 moves it by 7.6e-6.
constexpr double kLseSlack = 3e-6;
constexpr double kLogitSlack = 0x1p-21;

std::string text_of(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value); }

struct Token {
  const std::byte* key;
  const std::byte* value;
};

std::vector<Token> live_tokens(const Case& c, int64_t b, int64_t kv_head) {
  std::vector<Token> tokens;
  for (int64_t t = 0; t < c.context_lens_data()[b]; ++t) {
    const int32_t block = c.table_row(b)[t / c.spec.block_size];
    if (block < 0) continue;
    const int64_t slot = t % c.spec.block_size;
    tokens.push_back({c.key(block, slot, kv_head), c.value(block, slot, kv_head)});
  }
  return tokens;
}

// The elements of a query that are not 0: none or few, so a logit is a short sum.
struct SparseQuery {
  std::vector<std::pair<int64_t, double>> elements;  // channel, value * scale

  SparseQuery(const Case& c, int64_t b, int64_t h) {
    std::vector<float> row(static_cast<size_t>(c.spec.head_dim));
    to_f32(c.spec.dtype, c.query_row(b, h), row.data(), c.spec.head_dim);
    for (int64_t d = 0; d < c.spec.head_dim; ++d) {
      const double element = row[static_cast<size_t>(d)];
      if (element != 0) elements.emplace_back(d, element * static_cast<double>(scale_of(c.spec)));
    }
  }

  double dot(const std::vector<float>& key) const {
    double sum = 0;
    for (const auto& [channel, value] : elements) sum += value * static_cast<double>(key[static_cast<size_t>(channel)]);
    return sum;
  }
};

// The channels [first, last) of the keys that some query looks at: often few, or none.
std::pair<int64_t, int64_t> channels_used(const std::vector<SparseQuery>& queries) {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = 0;
  for (const SparseQuery& query : queries) {
    if (query.elements.empty()) continue;
    first = std::min(first, query.elements.front().first);
    last = std::max(last, query.elements.back().first + 1);
  }
  return {std::min(first, last), last};
}

// The heads of one group of one sequence; returns their smallest gap.
double answer_group(const Case& c, int64_t b, int64_t kv_head, ExactAnswer& answer) {
  const AttentionSpec& spec = c.spec;
  const int64_t group_size = spec.num_heads / spec.num_kv_heads;
  const std::vector<Token> tokens = live_tokens(c, b, kv_head);
  std::vector<SparseQuery> queries;
  for (int64_t g = 0; g < group_size; ++g) queries.emplace_back(c, b, kv_head * group_size + g);

  std::vector<float> row(static_cast<size_t>(spec.head_dim));
  std::vector<double> logits(queries.size() * tokens.size());  // [tokens, group_size]
  std::vector<double> highest(queries.size(), -kInfinity);
  const auto [first, last] = channels_used(queries);
  for (size_t t = 0; t < tokens.size(); ++t) {
    to_f32(spec.kv_dtype, tokens[t].key + first * size_of(spec.kv_dtype), row.data() + first, last - first);
    for (size_t g = 0; g < queries.size(); ++g) {
      const double logit = queries[g].dot(row);
      logits[t * queries.size() + g] = logit;
      highest[g] = std::max(highest[g], logit);
    }
  }
  double gap = kInfinity;
  for (size_t t = 0; t < tokens.size(); ++t) {
    bool widened = false;
    for (size_t g = 0; g < queries.size(); ++g) {
      const double below = highest[g] - logits[t * queries.size() + g];
      if (below > 0) {
        gap = std::min(gap, below);
        continue;
      }
      if (!widened) to_f32(spec.kv_dtype, tokens[t].value, row.data(), spec.head_dim);
      widened = true;
      const size_t answer_row = static_cast<size_t>(b * spec.num_heads + kv_head * group_size) + g;
      answer.count[answer_row] += 1;
      double* sum = answer.sum.data() + answer_row * row.size();
      for (size_t d = 0; d < row.size(); ++d) sum[d] += static_cast<double>(row[d]);
    }
  }
  for (size_t g = 0; g < queries.size(); ++g) {
    answer.logit[static_cast<size_t>(b * spec.num_heads + kv_head * group_size) + g] = highest[g];
  }
  return gap;
}

// The interval of stored values that a row of exact numbers, each within the slack, may round to.
struct Bounds {
  std::vector<float> low, high;
  std::vector<std::byte> storage;

  Bounds(const AttentionSpec& spec)
      : low(static_cast<size_t>(spec.head_dim)),
        high(low.size()),
        storage(low.size() * static_cast<size_t>(size_of(spec.dtype))) {}

  void set(DType dtype, const double* sum, int64_t count, double slack) {
    for (size_t d = 0; d < low.size(); ++d) {
      const double exact = count == 0 ? 0 : sum[d] / static_cast<double>(count);
      low[d] = static_cast<float>(count == 0 ? 0 : exact - slack);
      high[d] = static_cast<float>(count == 0 ? 0 : exact + slack);
    }
    for (std::vector<float>* side : {&low, &high}) {
      from_f32(dtype, side->data(), storage.data(), static_cast<int64_t>(side->size()));
      to_f32(dtype, storage.data(), side->data(), static_cast<int64_t>(side->size()));
    }
  }
};

}  // namespace

ExactAnswer answer_exactly(const Case& c, Executor& executor) {
  const auto rows = static_cast<size_t>(c.spec.batch_size * c.spec.num_heads);
  ExactAnswer answer;
  answer.count.resize(rows);
  answer.logit.resize(rows);
  answer.sum.resize(rows * static_cast<size_t>(c.spec.head_dim));
  std::vector<double> gaps(static_cast<size_t>(c.spec.batch_size * c.spec.num_kv_heads));
  parallel_for(executor, static_cast<int64_t>(gaps.size()), [&](int64_t i) {
    gaps[static_cast<size_t>(i)] = answer_group(c, i / c.spec.num_kv_heads, i % c.spec.num_kv_heads, answer);
  });
  answer.gap = *std::min_element(gaps.begin(), gaps.end());
  return answer;
}

std::string find_error(const Case& c, const ExactAnswer& answer, double largest_value) {
  const AttentionSpec& spec = c.spec;
  Bounds bounds(spec);
  std::vector<float> output(static_cast<size_t>(spec.head_dim));
  for (int64_t row = 0; row < spec.batch_size * spec.num_heads; ++row) {
    const int64_t b = row / spec.num_heads;
    const int64_t h = row % spec.num_heads;
    const int64_t count = answer.count[static_cast<size_t>(row)];
    const double* sum = answer.sum.data() + row * spec.head_dim;
    to_f32(spec.dtype, c.output_row(b, h), output.data(), spec.head_dim);
    bounds.set(spec.dtype, sum, count, kValueSlack * largest_value);
    for (size_t d = 0; d < output.size(); ++d) {
      if (output[d] >= bounds.low[d] && output[d] <= bounds.high[d]) continue;
      const std::string exact = count == 0 ? "0" : fmt::format("{}/{}", sum[d], count);
      return fmt::format("output[{}][{}][{}] is {}, exactly {}", b, h, d, text_of(output[d]), exact);
    }
    const double lse = c.lse_data()[row];
    const double logit = answer.logit[static_cast<size_t>(row)];
    const double exact = count == 0 ? -kInfinity : logit + std::log(static_cast<double>(count));
    const bool right = count == 0 ? lse == exact : std::abs(lse - exact) <= kLseSlack + kLogitSlack * std::abs(logit);
    if (!right) return fmt::format("lse[{}][{}] is {}, exactly {}", b, h, text_of(lse), text_of(exact));
  }
  return {};
}

}  // namespace quire::bench
