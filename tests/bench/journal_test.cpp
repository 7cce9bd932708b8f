// A journal is readable wherever it was cut, and goes on only with the run it belongs to.
#include "bench/journal.h"

#include <gmock/gmock.h>

#include "tests/bench/report_rows.h"
#include "tests/bench/scratch_directory.h"

namespace quire::bench {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

const JournalKey kKey = {{"--seq-lens", "128 512"}, {"--iters", "5"}};
constexpr size_t kRowsPerPoint = 2;

// Two points of two rows each.
std::vector<Row> four_rows() {
  std::vector<Row> rows = {right_row("cpu-naive", 200, 100, 1), right_row("cpu-chunked", 100, 50, 2),
                           failed_row("cpu-naive", "NO", "census: \"wrong\", \xc3\xa9"),
                           right_row("cpu-chunked", 99, 49, 2)};
  for (size_t i = 0; i < rows.size(); ++i) rows[i].workload.seq_len = i < kRowsPerPoint ? 128 : 512;
  rows[0].floors = rows[1].floors = std::nullopt;  // keeps the journal short
  return rows;
}

void write_journal(const std::string& path) {
  Result<Journal> journal = Journal::begin(path, kKey);
  ASSERT_TRUE(journal.ok()) << journal.status().message();
  for (const Row& row : four_rows()) ASSERT_TRUE(journal->append(row).ok());
}

std::string resume_error(const std::string& path, const JournalKey& key) {
  std::vector<Row> rows;
  const Result<Journal> journal = Journal::resume(path, key, kRowsPerPoint, rows);
  EXPECT_FALSE(journal.ok());
  return journal.status().message();
}

TEST(Journal, gives_back_the_rows_it_was_given) {
  const ScratchDirectory directory;
  write_journal(directory.file("j"));
  std::vector<Row> rows;
  ASSERT_TRUE(Journal::resume(directory.file("j"), kKey, kRowsPerPoint, rows).ok());
  ASSERT_EQ(rows.size(), 4u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].implementation, four_rows()[i].implementation);
    EXPECT_EQ(rows[i].verdict, four_rows()[i].verdict);
    EXPECT_EQ(rows[i].reason, four_rows()[i].reason);
    EXPECT_EQ(rows[i].workload.seq_len, four_rows()[i].workload.seq_len);
  }
  EXPECT_EQ(rows[3].timing->cold->samples_us, four_rows()[3].timing->cold->samples_us);
  EXPECT_EQ(rows[3].floors->stream.size(), 2u);
}

TEST(Journal, is_readable_wherever_it_was_cut) {
  const ScratchDirectory directory;
  write_journal(directory.file("whole"));
  const std::string whole = read_file(directory.file("whole"));
  std::vector<size_t> line_ends;
  for (size_t at = whole.find('\n'); at != std::string::npos; at = whole.find('\n', at + 1))
    line_ends.push_back(at + 1);
  ASSERT_EQ(line_ends.size(), 5u);
  const std::string path = directory.file("cut");
  for (size_t length = 0; length <= whole.size(); ++length) {
    write_file(path, whole.substr(0, length));
    const size_t due = length >= line_ends[4] ? 4 : length >= line_ends[2] ? 2 : 0;
    std::vector<Row> rows;
    {
      Result<Journal> journal = Journal::resume(path, kKey, kRowsPerPoint, rows);
      ASSERT_TRUE(journal.ok()) << "cut at " << length << ": " << journal.status().message();
      ASSERT_EQ(rows.size(), due) << "cut at " << length;
      for (size_t i = due; i < 4; ++i) ASSERT_TRUE(journal->append(four_rows()[i]).ok());
    }
    ASSERT_EQ(read_file(path), whole) << "cut at " << length;
  }
}

TEST(Journal, refuses_to_go_on_with_another_run) {
  const ScratchDirectory directory;
  const std::string path = directory.file("j");
  write_journal(path);
  EXPECT_THAT(resume_error(path, {{"--seq-lens", "128"}, {"--iters", "5"}}),
              EndsWith("is of another run: --seq-lens was \"128 512\" and is \"128\""));
  EXPECT_THAT(resume_error(path, {{"--seq-lens", "128 512"}}), EndsWith("--iters was \"5\" and is \"\""));
  EXPECT_THAT(resume_error(path, {{"--seq-lens", "128 512"}, {"--iters", "5"}, {"--hot", ""}, {"--ci", "2%"}}),
              EndsWith("--ci was \"\" and is \"2%\""));
}

TEST(Journal, refuses_what_is_none_and_leaves_it_alone) {
  const ScratchDirectory directory;
  const std::string path = directory.file("notes.txt");
  for (const char* text : {"my notes\n", "{\"quire\": 1}\n", "{}", "\n"}) {
    write_file(path, text);
    EXPECT_THAT(resume_error(path, kKey), HasSubstr("is not a journal of quire"));
    const Result<Journal> journal = Journal::begin(path, kKey);
    ASSERT_FALSE(journal.ok()) << text;
    EXPECT_EQ(journal.status().message(), "--journal: '" + path + "' exists and is not a journal of quire");
    EXPECT_EQ(read_file(path), text);
  }
}

TEST(Journal, refuses_a_damaged_line_in_the_middle) {
  const ScratchDirectory directory;
  const std::string path = directory.file("j");
  write_journal(path);
  std::string text = read_file(path);
  text[text.find('\n') + 1] = 'x';
  write_file(path, text);
  EXPECT_THAT(resume_error(path, kKey), HasSubstr("has a line that is no row"));
  write_file(path, "{\"quire_journal\":1}\n");
  EXPECT_THAT(resume_error(path, kKey), HasSubstr("has no header"));
}

TEST(Journal, begins_anew_over_an_older_journal) {
  const ScratchDirectory directory;
  const std::string path = directory.file("j");
  write_journal(path);
  {
    ASSERT_TRUE(Journal::begin(path, {{"--seq-lens", "4"}}).ok());
  }
  std::vector<Row> rows;
  EXPECT_TRUE(Journal::resume(path, {{"--seq-lens", "4"}}, kRowsPerPoint, rows).ok());
  EXPECT_TRUE(rows.empty());
}

TEST(Journal, serves_one_run_at_a_time) {
  const ScratchDirectory directory;
  const std::string path = directory.file("j");
  const Result<Journal> first = Journal::begin(path, kKey);
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(Journal::begin(path, kKey).status().message(), EndsWith("is in use by another run"));
  EXPECT_THAT(resume_error(path, kKey), EndsWith("is in use by another run"));
}

TEST(Journal, says_that_there_is_none) {
  const ScratchDirectory directory;
  EXPECT_THAT(resume_error(directory.file("none"), kKey), HasSubstr("cannot be opened: No such file"));
}

TEST(Journal, lies_beside_the_report_or_in_the_state_directory) {
  EXPECT_EQ(default_journal_path("results.json"), "results.json.journal");
  const ScratchDirectory directory;
  ASSERT_EQ(setenv("XDG_STATE_HOME", directory.path().c_str(), 1), 0);
  EXPECT_EQ(default_journal_path(""), directory.file("quire/last.journal"));
  EXPECT_TRUE(std::filesystem::is_directory(directory.file("quire")));
  ASSERT_EQ(unsetenv("XDG_STATE_HOME"), 0);
  ASSERT_EQ(setenv("HOME", directory.path().c_str(), 1), 0);
  EXPECT_EQ(default_journal_path(""), directory.file(".local/state/quire/last.journal"));
  ASSERT_EQ(setenv("XDG_STATE_HOME", "/dev/null", 1), 0);
  EXPECT_EQ(default_journal_path(""), "");
}

}  // namespace
}  // namespace quire::bench
