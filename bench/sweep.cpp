#include "bench/sweep.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <regex>

#include "bench/numbers.h"

namespace quire::bench {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

double blocks_in(const Workload& w) {
  return static_cast<double>(w.batch_size) *
         std::ceil(static_cast<double>(w.seq_len) / static_cast<double>(w.block_size));
}

Status invalid(const std::string& message) { return {StatusCode::kInvalidArgument, message}; }

// "--seq-lens 2048", the flag and value of a point.
std::string flag_and_value(const Workload& w, const char* name) {
  const Field& field = *find_field(name);
  return std::string(field.flag) + ' ' + text_of(field, w);
}

// The rules of validate(), which names fields as in C++; here the user knows them as flags.
Status check_shape(const Workload& w) {
  AttentionSpec spec;
  spec.dtype = w.dtype;
  spec.kv_dtype = w.kv_dtype;
  spec.batch_size = w.batch_size;
  spec.num_heads = w.num_heads;
  spec.num_kv_heads = w.num_kv_heads;
  spec.head_dim = w.head_dim;
  spec.block_size = w.block_size;
  spec.max_blocks_per_seq = (w.seq_len - 1) / w.block_size + 1;
  spec.num_blocks = w.batch_size * spec.max_blocks_per_seq;
  set_dense_strides(spec);
  const Status status = validate(spec);
  if (status.ok()) return {};
  std::string message = status.message();
  for (const Field& field : workload_fields()) {
    message = std::regex_replace(message, std::regex(fmt::format("\\b{}\\b", field.name)), field.flag);
  }
  return invalid(message);
}

}  // namespace

Result<std::vector<Workload>> sweep(const Workload& base, const std::vector<Axis>& axes) {
  std::vector<Workload> points = {base};
  bool kv_dtype_follows = true;
  for (const Axis& axis : axes) {
    if (points.size() * axis.values.size() > static_cast<size_t>(kMaxPoints)) {
      return invalid(fmt::format("{}: the grid has more than {} points", axis.field->flag, kMaxPoints));
    }
    std::vector<Workload> finer;
    for (const Workload& point : points) {
      for (const std::string& value : axis.values) {
        finer.push_back(point);
        if (Status s = set_field(*axis.field, finer.back(), value); !s.ok()) return s;
      }
    }
    points = std::move(finer);
    if (axis.field == find_field("kv_dtype")) kv_dtype_follows = false;
  }
  if (kv_dtype_follows) {
    for (Workload& point : points) point.kv_dtype = point.dtype;
  }
  return points;
}

double data_bytes(const Workload& w) {
  const double block = static_cast<double>(w.block_size) * static_cast<double>(w.num_kv_heads) *
                       static_cast<double>(w.head_dim) * static_cast<double>(size_of(w.kv_dtype));
  const double row =
      static_cast<double>(w.num_heads) * static_cast<double>(w.head_dim) * static_cast<double>(size_of(w.dtype));
  const double table_entry = 4;
  return kCases * (blocks_in(w) * (2 * block + table_entry) + static_cast<double>(w.batch_size) * 2 * row);
}

Status check_points(const std::vector<Workload>& points, int64_t memory_bytes) {
  for (const Workload& w : points) {
    if (w.seq_len > kMaxInt32) return invalid(fmt::format("--seq-lens: {} is more than {}", w.seq_len, kMaxInt32));
    if (const double bytes = data_bytes(w); bytes > static_cast<double>(memory_bytes)) {
      std::string shape;
      for (const char* name : {"batch_size", "seq_len", "num_kv_heads", "head_dim", "block_size"}) {
        shape += (shape.empty() ? "" : " ") + flag_and_value(w, name);
      }
      return invalid(fmt::format("{}: needs {}, the cache {} times, more than the {} of memory available", shape,
                                 byte_text(bytes), kCases, byte_text(static_cast<double>(memory_bytes))));
    }
    if (blocks_in(w) > static_cast<double>(kMaxInt32)) {
      return invalid(fmt::format("{} {} {}: more than {} blocks", flag_and_value(w, "batch_size"),
                                 flag_and_value(w, "seq_len"), flag_and_value(w, "block_size"), kMaxInt32));
    }
    if (Status s = check_shape(w); !s.ok()) return s;
  }
  return {};
}

}  // namespace quire::bench
