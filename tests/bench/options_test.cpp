// The flags of every command: the seed's defaults, what they hold, and what is refused in which words.
#include "bench/options.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "bench/fields.h"

namespace quire::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> all;
  for (std::string word; stream >> word;) all.push_back(word);
  return all;
}

BenchOptions bench(const std::string& line) {
  const Result<Parsed<BenchOptions>> parsed = parse_bench_options(words(line));
  EXPECT_TRUE(parsed.ok()) << line << ": " << parsed.status().message();
  return parsed.ok() ? parsed->options : BenchOptions();
}

std::string bench_error(const std::string& line) {
  const Result<Parsed<BenchOptions>> parsed = parse_bench_options(words(line));
  EXPECT_FALSE(parsed.ok()) << line;
  return parsed.status().message();
}

std::vector<std::string> shapes(const BenchOptions& options) {
  std::vector<std::string> all;
  for (const Workload& w : options.points)
    all.push_back(std::to_string(w.batch_size) + "x" + std::to_string(w.seq_len));
  return all;
}

TEST(BenchOptions, default_to_the_grid_of_the_seed) {
  const BenchOptions options = bench("");
  EXPECT_THAT(shapes(options),
              ElementsAre("1x128", "1x512", "1x2048", "8x128", "8x512", "8x2048", "32x128", "32x512", "32x2048"));
  for (const Workload& w : options.points) {
    EXPECT_EQ(w.num_heads, 16);
    EXPECT_EQ(w.num_kv_heads, 8);
    EXPECT_EQ(w.head_dim, 128);
    EXPECT_EQ(w.block_size, 256);
    EXPECT_EQ(w.dtype, DType::kF16);
    EXPECT_EQ(w.kv_dtype, DType::kF16);
    EXPECT_EQ(w.layout, Layout::kNhd);
  }
  EXPECT_FALSE(options.measure.iters.has_value());
  EXPECT_EQ(options.measure.warmup, 10);
  EXPECT_TRUE(options.measure.cold);
  EXPECT_TRUE(options.measure.hot);
  EXPECT_EQ(options.threads, available_threads());
}

TEST(BenchOptions, rows_go_from_the_simplest_implementation_to_the_best) {
  std::vector<std::string> reversed;
  for (const Implementation* implementation : implementations())
    reversed.insert(reversed.begin(), implementation->name);
  EXPECT_EQ(bench("").implementations, reversed);
}

TEST(BenchOptions, take_the_seeds_command_line) {
  const BenchOptions options = bench(
      "--batch-sizes 2 4 --seq-lens 64 --num-heads 32 --num-kv-heads 4 --head-dim 64 --block-size 16 --iters 7 "
      "--warmup 0");
  EXPECT_THAT(shapes(options), ElementsAre("2x64", "4x64"));
  EXPECT_EQ(options.points[0].num_heads, 32);
  EXPECT_EQ(options.measure.iters, 7);
  EXPECT_EQ(options.measure.warmup, 0);
}

TEST(BenchOptions, take_lists_and_ranges_on_every_axis) {
  EXPECT_THAT(shapes(bench("--batch-sizes=1,2 3 --seq-lens 128:512:x2,1k")),
              ElementsAre("1x128", "1x256", "1x512", "1x1024", "2x128", "2x256", "2x512", "2x1024", "3x128", "3x256",
                          "3x512", "3x1024"));
  EXPECT_EQ(
      bench("--num-heads 8 16 --num-kv-heads 1:8:x2 --head-dim 64,128 --block-size 16:64:+16 --dtype fp16 bf16 fp32 "
            "--layout nhd,hnd --batch-sizes 1 --seq-lens 17")
          .points.size(),
      2u * 4u * 2u * 4u * 3u * 2u);
}

TEST(BenchOptions, take_a_value_named_twice_once) {
  EXPECT_THAT(shapes(bench("--batch-sizes 4 4 2 4 --seq-lens 1:4:x2 2")),
              ElementsAre("4x1", "4x2", "4x4", "2x1", "2x2", "2x4"));
}

TEST(BenchOptions, keep_the_order_of_implementations) {
  const BenchOptions options = bench("--impl cpu-chunked,cpu-naive --baseline cpu-naive");
  EXPECT_THAT(options.implementations, ElementsAre("cpu-chunked", "cpu-naive"));
  EXPECT_EQ(options.baseline, "cpu-naive");
}

TEST(BenchOptions, say_what_to_measure) {
  EXPECT_FALSE(bench("--cold").measure.hot);
  EXPECT_FALSE(bench("--hot").measure.cold);
  EXPECT_TRUE(bench("--both").measure.cold);
  EXPECT_DOUBLE_EQ(bench("--ci 0.5%").measure.ci, 0.005);
  EXPECT_DOUBLE_EQ(bench("--time-budget 1.5").measure.budget_s, 1.5);
  EXPECT_DOUBLE_EQ(bench("--timeout 3").timeout_s, 3);
}

TEST(BenchOptions, give_back_the_settings_that_are_not_the_default) {
  EXPECT_EQ(flags_of(run_settings(bench("--threads 1"))), "--threads 1");
  EXPECT_EQ(flags_of(run_settings(bench("--threads 1 --hot --iters 5 --warmup 3 --ci 2% --time-budget 4 --timeout 9 "
                                        "--impl cpu-naive --baseline cpu-naive"))),
            "--threads 1 --baseline cpu-naive --hot --iters 5 --warmup 3 --ci 2% --time-budget 4 --timeout 9");
  EXPECT_EQ(flags_of(run_settings(bench("--threads 1 --cold"))), "--threads 1 --cold");
}

struct BadInput {
  const char* line;
  const char* message;
};

TEST(BenchOptions, refuse_bad_input_in_one_line_that_names_flag_and_value) {
  const BadInput inputs[] = {
      {"--batch-sizes 3x2", "--batch-sizes: '3x2' is not a whole number >= 1"},
      {"--batch-sizes abc", "--batch-sizes: 'abc' is not a whole number >= 1"},
      {"--batch-sizes 0x20", "--batch-sizes: '0x20' is not a whole number >= 1"},
      {"--batch-sizes 010", "--batch-sizes: '010' is not a whole number >= 1"},
      {"--batch-sizes 3.5", "--batch-sizes: '3.5' is not a whole number >= 1"},
      {"--batch-sizes -1", "--batch-sizes: '-1' is not a whole number >= 1"},
      {"--batch-sizes 0", "--batch-sizes: '0' is not a whole number >= 1"},
      {"--batch-sizes 99999999999999999999", "--batch-sizes: '99999999999999999999' is not a whole number >= 1"},
      {"--batch-sizes 1,,2", "--batch-sizes: '' is not a whole number >= 1"},
      {"--batch-sizes", "--batch-sizes: needs a value"},
      {"--batch-sizes --seq-lens 4", "--batch-sizes: needs a value, found '--seq-lens'"},
      {"--btach-sizes 4", "unknown flag '--btach-sizes'; did you mean --batch-sizes?"},
      {"--btach-sizes=4", "unknown flag '--btach-sizes'; did you mean --batch-sizes?"},
      {"--frobnicate", "unknown flag '--frobnicate'"},
      {"4", "unexpected argument '4'"},
      {"--iters 0", "--iters: '0' is not a whole number >= 1"},
      {"--iters 1e3", "--iters: '1e3' is not a whole number >= 1"},
      {"--iters 5 --iters 6", "--iters: given more than once"},
      {"--warmup -1", "--warmup: '-1' is not a whole number >= 0"},
      {"--seq-lens 128:32k", "--seq-lens: '128:32k' is not a range a:b:xN or a:b:+N"},
      {"--num-heads 16 --num-kv-heads 3", "--num-heads is 16, must be a multiple of --num-kv-heads, 3"},
      {"--dtype fp61", "--dtype: 'fp61' is not one of fp16, bf16, fp32; did you mean fp16?"},
      {"--layout nhdd", "--layout: 'nhdd' is not one of nhd, hnd; did you mean nhd?"},
      {"--impl cpu-chunkd", "--impl: 'cpu-chunkd' is not an implementation; did you mean cpu-chunked?"},
      {"--impl frobnicate", "--impl: 'frobnicate' is not an implementation; quire list shows all"},
      {"--impl cpu-naive --baseline cpu-scalar", "--baseline: 'cpu-scalar' is not among the implementations that run"},
      {"--device cpi", "--device: 'cpi' is not one of auto, cpu; did you mean cpu?"},
      {"--device cuda:0", "--device: 'cuda:0' is not available: this build has no CUDA"},
      {"--threads 0", "--threads: '0' is not a whole number >= 1"},
      {"--ci 0.01", "--ci: '0.01' is not a percentage such as 1%"},
      {"--time-budget 0", "--time-budget: '0' is not a number of seconds > 0"},
      {"--timeout inf", "--timeout: 'inf' is not a number of seconds > 0"},
      {"--seed -1", "--seed: '-1' is not a whole number >= 0"},
      {"--cold --hot", "--hot: cannot be combined with --cold"},
      {"--quiet=3", "--quiet: takes no value"},
  };
  for (const BadInput& input : inputs) EXPECT_EQ(bench_error(input.line), input.message) << input.line;
}

TEST(BenchOptions, refuse_more_threads_than_there_are) {
  EXPECT_THAT(bench_error("--threads 100000"), StartsWith("--threads: 100000 is more than the "));
}

TEST(BenchOptions, refuse_a_cache_larger_than_memory) {
  const std::string message = bench_error("--batch-sizes 1 1m --seq-lens 1m");
  EXPECT_THAT(message, StartsWith("--batch-sizes 1048576 --seq-lens 1048576 "));
  EXPECT_THAT(message, HasSubstr("18.0 PB"));
}

TEST(CheckOptions, choose_types_and_cases) {
  const auto parsed = parse_check_options(words("--dtype bf16,fp32 --case head_dim --impl cpu-naive"));
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(parsed->options.dtypes, ElementsAre(DType::kBF16, DType::kF32));
  EXPECT_EQ(parsed->options.case_name, "head_dim");
  EXPECT_THAT(parsed->options.implementations, ElementsAre("cpu-naive"));
  EXPECT_EQ(parse_check_options({"--case", "nonsense"}).status().message(), "--case: 'nonsense' is in no case's name");
  EXPECT_EQ(parse_check_options({"--dtype", "fp8"}).status().message(),
            "--dtype: 'fp8' is not one of fp16, bf16, fp32");
  EXPECT_EQ(parse_check_options({"--iters", "5"}).status().message(), "unknown flag '--iters'");
}

TEST(Help, is_at_most_100_columns_wide) {
  const std::string texts[] = {
      parse_bench_options({"--help"})->help,     parse_list_options({"-h"})->help,
      parse_check_options({"--help"})->help,     parse_self_test_options({"--help"})->help,
      parse_calibrate_options({"--help"})->help,
  };
  for (const std::string& text : texts) {
    EXPECT_FALSE(text.empty());
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(Help, names_every_field_of_a_point) {
  const std::string text = parse_bench_options({"--help"})->help;
  for (const Field& field : workload_fields()) EXPECT_THAT(text, HasSubstr(field.flag));
}

TEST(Help, wins_over_what_else_is_wrong) { EXPECT_TRUE(parse_bench_options({"--iters", "0", "--help"}).ok()); }

}  // namespace
}  // namespace quire::bench
