// What reports look like, byte for byte (golden files; QUIRE_UPDATE_GOLDEN=1 rewrites them), and what holds of any.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bench/fields.h"
#include "bench/report/csv.h"
#include "bench/report/json.h"
#include "bench/report/table.h"
#include "tests/bench/report_rows.h"
#include "tests/bench/scratch_directory.h"

namespace quire::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(QUIRE_GOLDEN_DIRECTORY) + '/' + name;
  if (std::getenv("QUIRE_UPDATE_GOLDEN") != nullptr) write_file(path, text);
  EXPECT_EQ(text, read_file(path));
}

std::string whole_table(const ReportInfo& info) {
  return table_head(info) + table_of_point(sample_rows(), info, {}) + table_foot(sample_rows(), info);
}

std::string line_of(const std::string& text, const std::string& beginning) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(beginning, 0) == 0) return line;
  }
  return "";
}

void expect_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kTableWidth) << line;
}

ReportInfo hot_info() {
  ReportInfo info = sample_info();
  info.cold = false;
  return info;
}

ReportInfo cold_info() {
  ReportInfo info = sample_info();
  info.hot = false;
  return info;
}

TEST(Table, looks_as_it_did) {
  expect_golden("table.txt", whole_table(sample_info()));
  expect_golden("table_cold.txt", whole_table(cold_info()));
  expect_golden("table_hot.txt", whole_table(hot_info()));
}

TEST(Csv, looks_as_it_did) { expect_golden("report.csv", csv_report(sample_rows(), sample_info())); }

TEST(Json, looks_as_it_did) { expect_golden("report.json", json_report(sample_rows(), sample_info())); }

TEST(Table, is_at_most_100_columns_wide) {
  for (const ReportInfo& info : {sample_info(), cold_info(), hot_info()}) expect_narrow(whole_table(info));
}

TEST(Table, stays_narrow_at_extremes) {
  std::vector<Row> rows = sample_rows();
  for (Row& row : rows) {
    row.implementation = "sixteen-letters!";
    if (!row.timing) continue;
    row.timing->cold->us = {1, 9'999'999'999.9, 1e12};
    row.timing->hot->us = {1, 9'999'999'999.9, 1e12};
    row.timing->cold_speedup = Interval{1, 9'999'999, 1e9};
  }
  rows.back().timing->cold->us = {0.01, 0.02, 0.03};
  rows.back().workload.seq_len = 2'147'483'647;
  rows.back().workload.batch_size = 1'000'000;
  ReportInfo info = sample_info();
  info.environment.cpu_model = std::string(90, 'x') + " a processor with a long name";
  for (int i = 0; i < 20; ++i) info.implementations.emplace_back("sixteen-letters!");
  expect_narrow(table_head(info) + table_of_point(rows, info, {}));
}

TEST(Table, offers_no_time_for_what_is_not_right) {
  const std::string text = whole_table(sample_info());
  for (const char* name : {"cpu-wrong", "cpu-crash", "cpu-hang", "cpu-gather"}) {
    EXPECT_THAT(line_of(text, name), Not(testing::ContainsRegex("[0-9]x|%"))) << name;
  }
  EXPECT_THAT(text, HasSubstr("cpu-crash: CRASH: SIGSEGV, reading address 0"));
}

TEST(Table, offers_no_speedup_for_the_impossible) {
  const std::string text = whole_table(sample_info());
  EXPECT_THAT(line_of(text, "cpu-impossible16"), Not(HasSubstr("x")));
  EXPECT_THAT(text, HasSubstr("cpu-impossible16: IMPOSSIBLE"));
}

TEST(Table, columns_begin_as_in_the_seed) {
  EXPECT_THAT(line_of(whole_table(sample_info()), "implementation"),
              testing::ContainsRegex("^implementation +max_err +correct +ms +speedup +hot_ms "));
}

TEST(Table, colours_verdicts_only_where_asked) {
  EXPECT_THAT(table_of_point(sample_rows(), sample_info(), {.color = false}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(table_of_point(sample_rows(), sample_info(), {.color = true}), HasSubstr("\x1b[1;31m      NO\x1b[0m"));
}

TEST(Json, has_the_keys_that_scripts_rely_on) {
  const auto report = nlohmann::json::parse(json_report(sample_rows(), sample_info()));
  EXPECT_EQ(report.at("schema"), 1);
  EXPECT_EQ(report.at("argv").at(1), "bench");
  EXPECT_EQ(report.at("environment").at("cpu_model"), "Example Processor 9000");
  ASSERT_EQ(report.at("rows").size(), sample_rows().size());
  for (const auto& row : report.at("rows")) {
    for (const char* key :
         {"implementation", "device",   "batch_size", "seq_len",  "num_heads",      "num_kv_heads", "head_dim",
          "block_size",     "layout",   "dtype",      "kv_dtype", "verdict",        "reason",       "max_err",
          "rel_l2",         "cold_us",  "hot_us",     "floor_us", "paged_floor_us", "fma_floor_us", "floor_share",
          "speedup",        "kv_bytes", "repro",      "samples"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
  }
  const auto& right = report.at("rows").at(0);
  EXPECT_EQ(right.at("batch_size"), 8);
  EXPECT_EQ(right.at("dtype"), "fp16");
  EXPECT_EQ(right.at("samples").at("cold_us").size(), 3u);
  EXPECT_EQ(right.at("floors").at("stream").at("plain").at("samples_us").size(), 3u);
  EXPECT_EQ(right.at("floors").at("paged").size(), 2u);
}

TEST(Json, writes_null_for_what_is_no_number_or_was_not_taken) {
  const auto report = nlohmann::json::parse(json_report(sample_rows(), sample_info()));
  const auto& wrong = report.at("rows").at(2);
  for (const char* key : {"max_err", "rel_l2", "cold_us", "hot_us", "speedup", "floor_us"}) {
    EXPECT_TRUE(wrong.at(key).is_null()) << key;
  }
  EXPECT_TRUE(report.at("rows").at(6).at("speedup").is_null());
}

TEST(Json, survives_text_that_is_no_utf8) {
  ReportInfo info = sample_info();
  info.argv.emplace_back("\xff\xfe");
  std::vector<Row> rows = sample_rows();
  rows[2].reason = "\xc3";
  EXPECT_FALSE(nlohmann::json::parse(json_report(rows, info), nullptr, false).is_discarded());
}

TEST(Json, of_no_rows_is_still_json) {
  EXPECT_TRUE(nlohmann::json::parse(json_report({}, sample_info())).at("rows").empty());
}

// RFC 4180: fields of one record, quotes undone.
std::vector<std::string> parse_record(const std::string& text, size_t& at) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '"' && text[at + 1] == '"')
      fields.back() += text[++at];
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && c == ',')
      fields.emplace_back();
    else if (!quoted && c == '\r' && text[at + 1] == '\n')
      break;
    else
      fields.back() += c;
  }
  at += 2;
  return fields;
}

TEST(Csv, has_a_column_a_key_and_as_many_fields_in_each_row) {
  const std::string text = csv_report(sample_rows(), sample_info());
  size_t at = 0;
  const std::vector<std::string> header = parse_record(text, at);
  ASSERT_EQ(header.size(), columns().size());
  std::vector<std::vector<std::string>> records;
  while (at < text.size()) records.push_back(parse_record(text, at));
  ASSERT_EQ(records.size(), sample_rows().size());
  const auto reason = static_cast<size_t>(std::find(header.begin(), header.end(), "reason") - header.begin());
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].size(), header.size());
    EXPECT_EQ(records[i][reason], sample_rows()[i].reason);
  }
}

TEST(Columns, have_keys_of_their_own_and_one_for_every_field) {
  std::set<std::string> keys;
  for (const Column& column : columns()) EXPECT_TRUE(keys.insert(column.key).second) << column.key;
  for (const Field& field : workload_fields()) EXPECT_TRUE(keys.contains(field.name)) << field.name;
}

double number(const char* key, const Row& row, const ReportInfo& info) {
  return std::get<double>(cell(key, row, info));
}

TEST(Columns, lead_with_cold_times_unless_only_hot_ones_were_taken) {
  const Row row = right_row("cpu-chunked", 200, 100, 2);
  EXPECT_DOUBLE_EQ(number("gb_per_s", row, sample_info()), 16'777'216 / 200.0 * 1e-3);
  EXPECT_DOUBLE_EQ(number("gb_per_s", row, hot_info()), 16'777'216 / 100.0 * 1e-3);
  EXPECT_DOUBLE_EQ(number("floor_share", row, sample_info()), 101 / 200.0);
  EXPECT_DOUBLE_EQ(number("floor_share", row, hot_info()), 101 / 100.0);
}

TEST(Columns, leave_floors_empty_where_none_were_read) {
  Row row = right_row("cpu-chunked", 200, 100, 2);
  row.floors->best_stream = row.floors->best_paged = "";
  for (const char* key : {"floor_us", "floor_share", "paged_floor_us", "paged_floor_share"}) {
    EXPECT_EQ(cell(key, row, sample_info()), Cell()) << key;
  }
}

TEST(Repro, names_the_row_and_what_it_is_compared_with) {
  const ReportInfo info = sample_info();
  EXPECT_EQ(
      repro_command(right_row("cpu-chunked", 1, 1, 1), info),
      "quire bench --batch-sizes 8 --seq-lens 512 --num-heads 16 --num-kv-heads 8 --head-dim 128 --block-size 256 "
      "--dtype fp16 --kv-dtype fp16 --layout nhd --seed 0 --impl cpu-naive,cpu-chunked --threads 2");
  EXPECT_THAT(repro_command(right_row("cpu-naive", 1, 1, 1), info), HasSubstr("--impl cpu-naive --threads 2"));
}

}  // namespace
}  // namespace quire::bench
