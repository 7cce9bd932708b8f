#include "bench/job_json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>

namespace quire::bench {
namespace {

using nlohmann::json;

// Writes fields to JSON. JSON has no NaN and no infinity: they pass as words.
class Writer {
 public:
  explicit Writer(json& target) : target_(target) {}

  template <typename T>
  void operator()(const char* key, T& value) {
    target_[key] = encode(value);
  }

 private:
  template <typename T>
  static json encode(const T& value);

  json& target_;
};

// Reads the same fields back.
class Reader {
 public:
  explicit Reader(const json& source) : source_(source) {}

  template <typename T>
  void operator()(const char* key, T& value) {
    const auto found = source_.find(key);
    if (found == source_.end()) throw std::runtime_error(std::string("key '") + key + "' is missing");
    try {
      decode(*found, value);
    } catch (const json::exception&) {
      throw std::runtime_error(std::string("key '") + key + "' is " + found->dump());
    }
  }

 private:
  template <typename T>
  static void decode(const json& source, T& value);

  const json& source_;
};

// The fields of each type, once for both directions. A Visitor is called with key and member.

template <typename Visitor>
void visit(Visitor& v, Workload& w) {
  v("batch_size", w.batch_size);
  v("seq_len", w.seq_len);
  v("context_lens", w.context_lens);
  v("num_heads", w.num_heads);
  v("num_kv_heads", w.num_kv_heads);
  v("head_dim", w.head_dim);
  v("block_size", w.block_size);
  v("layout", w.layout);
  v("dtype", w.dtype);
  v("kv_dtype", w.kv_dtype);
  v("seed", w.seed);
  v("unmapped_blocks", w.unmapped_blocks);
  v("shared_blocks", w.shared_blocks);
  v("padded_strides", w.padded_strides);
}

template <typename Visitor>
void visit(Visitor& v, MeasureOptions& m) {
  v("cold", m.cold);
  v("hot", m.hot);
  v("iters", m.iters);
  v("warmup", m.warmup);
  v("ci", m.ci);
  v("budget_s", m.budget_s);
}

template <typename Visitor>
void visit(Visitor& v, Job& j) {
  v("workload", j.workload);
  v("implementations", j.implementations);
  v("baseline", j.baseline);
  v("depth", j.depth);
  v("measure", j.measure);
  v("threads", j.threads);
  v("with_faults", j.with_faults);
}

template <typename Visitor>
void visit(Visitor& v, Interval& i) {
  v("low", i.low);
  v("median", i.median);
  v("high", i.high);
}

template <typename Visitor>
void visit(Visitor& v, Series& s) {
  v("samples_us", s.samples_us);
  v("us", s.us);
}

template <typename Visitor>
void visit(Visitor& v, Timing& t) {
  v("cold", t.cold);
  v("hot", t.hot);
  v("cold_speedup", t.cold_speedup);
  v("hot_speedup", t.hot_speedup);
  v("first_call_us", t.first_call_us);
  v("workspace_bytes", t.workspace_bytes);
  v("stopped_by", t.stopped_by);
  v("impossible", t.impossible);
  v("from_cache", t.from_cache);
  v("involuntary_switches", t.involuntary_switches);
}

template <typename Visitor>
void visit(Visitor& v, Floors& f) {
  v("stream", f.stream);
  v("paged", f.paged);
  v("best_stream", f.best_stream);
  v("best_paged", f.best_paged);
  v("floor_us", f.floor_us);
  v("paged_floor_us", f.paged_floor_us);
  v("fma_floor_us", f.fma_floor_us);
  v("fma_per_us", f.fma_per_us);
  v("steal_share", f.steal_share);
}

template <typename Visitor>
void visit(Visitor& v, Row& r) {
  v("implementation", r.implementation);
  v("device", r.device);
  v("workload", r.workload);
  v("verdict", r.verdict);
  v("reason", r.reason);
  v("max_err", r.max_err);
  v("rel_l2", r.rel_l2);
  v("lse_err", r.lse_err);
  v("kv_bytes", r.kv_bytes);
  v("timing", r.timing);
  v("floors", r.floors);
}

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsMap : std::false_type {};
template <typename T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

template <typename T>
json Writer::encode(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (IsOptional<T>::value) {
    return value.has_value() ? encode(*value) : json();
  } else if constexpr (IsVector<T>::value) {
    json array = json::array();
    for (const auto& element : value) array.push_back(encode(element));
    return array;
  } else if constexpr (IsMap<T>::value) {
    json object = json::object();
    for (const auto& [key, element] : value) object[key] = encode(element);
    return object;
  } else {
    json object = json::object();
    Writer writer(object);
    visit(writer, const_cast<T&>(value));  // a Writer changes nothing
    return object;
  }
}

template <typename T>
void Reader::decode(const json& source, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(source.get<int>());
  } else if constexpr (std::is_same_v<T, double>) {
    if (source == "nan")
      value = std::numeric_limits<double>::quiet_NaN();
    else if (source == "inf")
      value = std::numeric_limits<double>::infinity();
    else if (source == "-inf")
      value = -std::numeric_limits<double>::infinity();
    else
      value = source.get<double>();
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    value = source.get<T>();
  } else if constexpr (IsOptional<T>::value) {
    if (source.is_null()) return value.reset();
    decode(source, value.emplace());
  } else if constexpr (IsVector<T>::value) {
    value.clear();
    for (const json& element : source.get_ref<const json::array_t&>()) decode(element, value.emplace_back());
  } else if constexpr (IsMap<T>::value) {
    value.clear();
    for (const auto& [key, element] : source.get_ref<const json::object_t&>()) decode(element, value[key]);
  } else {
    Reader reader(source);
    visit(reader, value);
  }
}

template <typename T>
json write(const T& value) {
  json object = json::object();
  Writer writer(object);
  visit(writer, const_cast<T&>(value));  // a Writer changes nothing
  return object;
}

template <typename T>
Result<T> read(const json& source) {
  try {
    T value;
    Reader reader(source);
    visit(reader, value);
    return value;
  } catch (const std::exception& error) {
    return Status(StatusCode::kInvalidArgument, error.what());
  }
}

}  // namespace

json to_json(const Workload& workload) { return write(workload); }
json to_json(const Job& job) { return write(job); }
json to_json(const Row& row) { return write(row); }

Result<Job> job_from_json(const json& source) { return read<Job>(source); }
Result<Row> row_from_json(const json& source) { return read<Row>(source); }

}  // namespace quire::bench
