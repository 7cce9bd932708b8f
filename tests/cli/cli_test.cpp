// The tool's promises to whoever types at it: exit codes, messages, files, interrupts, terminals.
#include "bench/cli.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/cli/tool.h"

namespace quire::bench {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kShape =
    "bench --batch-sizes 2 --num-heads 4 --num-kv-heads 2 --head-dim 32 --block-size 16 --warmup 1 --threads 1 ";
// Takes no time to speak of; the lengths are to be added.
const std::string kTinyPoint = kShape + "--iters 11 ";
// Leaves something to do when the first table stands.
const std::string kThreePoints = kShape + "--seq-lens 33 34 2000 --iters 100 --json r.json ";

size_t lines_in(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

nlohmann::json parse_file(const std::string& path) { return nlohmann::json::parse(read_file(path), nullptr, false); }

TEST(Cli, alone_shows_its_help) {
  const ScratchDirectory directory;
  for (const char* arguments : {"", "--help", "-h", "help"}) {
    const Outcome outcome = run_tool(directory, arguments);
    EXPECT_EQ(outcome.exit_code, kExitOk);
    EXPECT_THAT(outcome.out, HasSubstr("Usage: quire COMMAND"));
    EXPECT_THAT(outcome.err, IsEmpty());
  }
}

TEST(Cli, every_command_has_help) {
  const ScratchDirectory directory;
  for (const std::string command : {"bench", "list", "check", "self-test", "calibrate"}) {
    const Outcome outcome = run_tool(directory, command + " --help");
    EXPECT_EQ(outcome.exit_code, kExitOk) << command;
    EXPECT_THAT(outcome.out, HasSubstr("Usage: quire " + command));
  }
}

TEST(Cli, says_its_version) {
  const ScratchDirectory directory;
  EXPECT_EQ(run_tool(directory, "--version").out, "quire 0.1.0\n");
}

TEST(Cli, corrects_a_mistyped_command) {
  const ScratchDirectory directory;
  const Outcome outcome = run_tool(directory, "benhc");
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_EQ(outcome.err, "quire: unknown command 'benhc'; did you mean bench?\n");
  EXPECT_EQ(run_tool(directory, "--verison").err, "quire: unknown flag '--verison'; did you mean --version?\n");
}

TEST(Cli, list_shows_every_implementation) {
  const ScratchDirectory directory;
  const Outcome outcome = run_tool(directory, "list");
  EXPECT_EQ(outcome.exit_code, kExitOk);
  for (const Implementation* implementation : implementations()) {
    EXPECT_THAT(outcome.out, HasSubstr(implementation->name));
  }
}

// Exit code 1, nothing on stdout, one line on stderr with these parts, and not a file touched.
struct BadCommand {
  const char* name;  // of the test
  const char* arguments;
  std::vector<std::string> parts;
};

class BadInput : public testing::TestWithParam<BadCommand> {};

TEST_P(BadInput, is_refused_before_anything_runs) {
  const ScratchDirectory directory;
  write_file(directory.file("notes.txt"), "mine\n");
  const Outcome outcome = run_tool(directory, GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(lines_in(outcome.err), 1u) << outcome.err;
  for (const std::string& part : GetParam().parts) EXPECT_THAT(outcome.err, HasSubstr(part));
  EXPECT_THAT(directory.entries(), ElementsAre("notes.txt"));
  EXPECT_EQ(read_file(directory.file("notes.txt")), "mine\n");
}

INSTANTIATE_TEST_SUITE_P(
    Cli, BadInput,
    testing::Values(
        BadCommand{"letters_in_a_number", "bench --batch-sizes 3x2", {"--batch-sizes", "'3x2'"}},
        BadCommand{"no_number", "bench --batch-sizes abc", {"--batch-sizes", "'abc'"}},
        BadCommand{"hexadecimal", "bench --batch-sizes 0x20", {"--batch-sizes", "'0x20'"}},
        BadCommand{"octal", "bench --batch-sizes 010", {"--batch-sizes", "'010'"}},
        BadCommand{"fraction", "bench --batch-sizes 3.5", {"--batch-sizes", "'3.5'"}},
        BadCommand{"negative", "bench --batch-sizes -1", {"--batch-sizes", "'-1'"}},
        BadCommand{"zero", "bench --seq-lens 0", {"--seq-lens", "'0'"}},
        BadCommand{
            "too_large", "bench --batch-sizes 99999999999999999999", {"--batch-sizes", "'99999999999999999999'"}},
        BadCommand{"missing_value", "bench --batch-sizes", {"--batch-sizes", "needs a value"}},
        BadCommand{"mistyped_flag", "bench --btach-sizes 4", {"'--btach-sizes'", "did you mean --batch-sizes?"}},
        BadCommand{"zero_iterations", "bench --iters 0", {"--iters", "'0'"}},
        BadCommand{"zero_heads", "bench --num-heads 0", {"--num-heads", "'0'"}},
        BadCommand{"negative_head_dim", "bench --head-dim -128", {"--head-dim", "'-128'"}},
        BadCommand{"heads_that_do_not_divide",
                   "bench --num-heads 33 --num-kv-heads 2",
                   {"--num-heads", "33", "--num-kv-heads"}},
        BadCommand{"unknown_implementation", "bench --impl cpu-chunkd", {"--impl", "'cpu-chunkd'", "cpu-chunked?"}},
        BadCommand{"unknown_device", "bench --device cpi", {"--device", "'cpi'", "cpu?"}},
        BadCommand{"absent_device", "bench --device cuda:0", {"--device", "'cuda:0'", "no CUDA"}},
        BadCommand{"unknown_dtype", "bench --dtype fp61", {"--dtype", "'fp61'", "fp16?"}},
        BadCommand{"line_break_in_a_value", "bench --dtype 'fp\n16'", {"--dtype", "'fp?16'"}},
        BadCommand{"cache_larger_than_memory",
                   "bench --batch-sizes 1m --seq-lens 1m --json r.json",
                   {"--batch-sizes 1048576", "PB"}},
        BadCommand{"last_point_larger_than_memory", "bench --seq-lens 128:1024m:x2 --batch-sizes 64", {"--seq-lens"}},
        BadCommand{
            "report_in_no_directory", "bench --json missing/r.json", {"--json", "'missing/r.json'", "No such file"}},
        BadCommand{"report_that_is_a_directory", "bench --csv /", {"--csv", "'/'", "Is a directory"}},
        BadCommand{"second_report_unwritable", "bench --json r.json --csv missing/r.csv", {"--csv", "'missing/r.csv'"}},
        BadCommand{"two_reports_in_one_file", "bench --json r --csv ./r", {"--csv", "'./r'", "--json"}},
        BadCommand{"journal_over_notes", "bench --journal notes.txt", {"--journal", "'notes.txt'", "not a journal"}},
        BadCommand{"journal_over_report", "bench --journal r --json r", {"--journal", "'r'"}},
        BadCommand{"nothing_to_resume", "bench --resume --json r.json", {"'r.json.journal'", "No such file"}},
        BadCommand{"too_many_threads", "bench --threads 100000", {"--threads", "100000"}},
        BadCommand{"argument_of_list", "list everything", {"'everything'"}},
        BadCommand{"flag_of_check", "check --iters 4", {"'--iters'"}},
        BadCommand{"case_of_check", "check --case nonsense", {"--case", "'nonsense'"}},
        BadCommand{"flag_of_self_test", "self-test --thread 1", {"'--thread'", "--threads?"}},
        BadCommand{"flag_of_calibrate", "calibrate --json x", {"'--json'"}}),
    [](const auto& bad) { return bad.param.name; });

TEST(Cli, a_run_ends_in_a_table_and_reports) {
  const ScratchDirectory directory;
  const Outcome outcome = run_tool(directory, kTinyPoint + "--seq-lens 33 --json r.json --csv r.csv");
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, StartsWith("quire 0.1.0 on cpu: "));
  EXPECT_THAT(directory.entries(), ElementsAre("r.csv", "r.json"));
  const nlohmann::json report = parse_file(directory.file("r.json"));
  ASSERT_EQ(report.at("rows").size(), implementations().size());
  for (const auto& row : report.at("rows")) {
    EXPECT_THAT(outcome.out, HasSubstr(row.at("implementation").get<std::string>() + " "));
    if (row.at("verdict") == "SKIP") continue;
    EXPECT_EQ(row.at("verdict"), "yes") << row.at("reason");
    EXPECT_EQ(row.at("samples").at("cold_us").size(), 11u);
    EXPECT_EQ(row.at("samples").at("hot_us").size(), 11u);
    EXPECT_GE(row.at("floors").at("stream").size(), 4u);
    EXPECT_GT(row.at("cold_us"), 0);
    EXPECT_EQ(row.at("kv_bytes"), 2 * 2 * 33 * 2 * 32 * 2);
  }
  EXPECT_EQ(lines_in(read_file(directory.file("r.csv"))), 1 + report.at("rows").size());
}

TEST(Cli, a_rows_repro_command_measures_that_row) {
  const ScratchDirectory directory;
  ASSERT_EQ(run_tool(directory, kTinyPoint + "--seq-lens 33 --hot --json r.json").exit_code, kExitOk);
  const nlohmann::json row = parse_file(directory.file("r.json")).at("rows").back();
  const std::string repro = row.at("repro");
  ASSERT_THAT(repro, StartsWith("quire "));
  const Outcome outcome = run_tool(directory, repro.substr(6) + " --json again.json");
  EXPECT_EQ(outcome.exit_code, kExitOk) << outcome.err;
  const nlohmann::json again = parse_file(directory.file("again.json")).at("rows").back();
  for (const char* key : {"implementation", "batch_size", "seq_len", "num_heads", "num_kv_heads", "head_dim",
                          "block_size", "dtype", "layout", "seed", "max_err", "rel_l2", "repro"}) {
    EXPECT_EQ(again.at(key), row.at(key)) << key;
  }
}

TEST(Cli, a_grid_of_nothing_but_skips_is_wrong_usage) {
  const ScratchDirectory directory;
  const Outcome outcome = run_tool(directory, kTinyPoint + "--seq-lens 33 --dtype fp16 --kv-dtype fp32");
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.out, HasSubstr("SKIP"));
}

TEST(Cli, check_says_yes_to_every_implementation) {
  const ScratchDirectory directory;
  const Outcome outcome =
      run_tool(directory, "check --case ragged --dtype fp32 --impl cpu-naive,cpu-chunked --threads 1");
  EXPECT_EQ(outcome.exit_code, kExitOk);
  EXPECT_THAT(outcome.out, HasSubstr("2 of 2 results are right."));
}

TEST(Cli, an_interrupt_leaves_a_table_and_a_journal_to_go_on_with) {
  const ScratchDirectory directory;
  Tool tool(directory, "exec \"$QUIRE\" " + kThreePoints);
  ASSERT_TRUE(tool.wait_for_output("Floors:"));
  tool.signal(SIGINT);
  const Outcome outcome = tool.wait();
  EXPECT_EQ(outcome.exit_code, kExitInterrupted);
  EXPECT_THAT(outcome.out, HasSubstr("rows: "));
  EXPECT_THAT(outcome.err, HasSubstr("r.json.journal; go on with:"));
  EXPECT_THAT(outcome.err, EndsWith("--resume\n"));
  EXPECT_THAT(directory.entries(), ElementsAre("r.json.journal"));
  const size_t finished = lines_in(read_file(directory.file("r.json.journal"))) - 1;
  EXPECT_GE(finished, implementations().size());

  const Outcome resumed = run_tool(directory, kThreePoints + "--resume");
  EXPECT_EQ(resumed.exit_code, kExitOk) << resumed.err;
  EXPECT_THAT(directory.entries(), ElementsAre("r.json"));
  EXPECT_EQ(parse_file(directory.file("r.json")).at("rows").size(), 3 * implementations().size());
}

TEST(Cli, a_killed_run_goes_on_from_its_journal) {
  const ScratchDirectory directory;
  Tool tool(directory, "exec \"$QUIRE\" " + kThreePoints);
  ASSERT_TRUE(tool.wait_for_output("Floors:"));
  tool.signal(SIGKILL);
  EXPECT_EQ(tool.wait().exit_code, 128 + SIGKILL);
  const std::string journal = read_file(directory.file("r.json.journal"));
  const std::string first_row = journal.substr(journal.find('\n') + 1, journal.find('\n', journal.find('\n') + 1));
  const nlohmann::json before = nlohmann::json::parse(first_row.substr(0, first_row.find('\n')));

  const Outcome resumed = run_tool(directory, kThreePoints + "--resume");
  EXPECT_EQ(resumed.exit_code, kExitOk) << resumed.err;
  const nlohmann::json report = parse_file(directory.file("r.json"));
  ASSERT_EQ(report.at("rows").size(), 3 * implementations().size());
  EXPECT_EQ(report.at("rows").at(0).at("samples").at("cold_us"), before.at("timing").at("cold").at("samples_us"));
}

TEST(Cli, another_runs_journal_is_refused) {
  const ScratchDirectory directory;
  Tool tool(directory, "exec \"$QUIRE\" " + kThreePoints);
  ASSERT_TRUE(tool.wait_for_output("Floors:"));
  tool.signal(SIGINT);
  tool.wait();
  const Outcome outcome = run_tool(directory, kShape + "--seq-lens 33 --iters 100 --json r.json --resume");
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--seq-lens was \"33 34 2000\" and is \"33\""));
}

TEST(Cli, a_reader_that_goes_away_ends_the_run) {
  const ScratchDirectory directory;
  const Outcome outcome = Tool(directory, "\"$QUIRE\" " + kTinyPoint + "--seq-lens 1:50:+1 | head -1").wait();
  EXPECT_EQ(lines_in(outcome.out), 1u);
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(Cli, reports_are_written_though_nobody_reads_the_table) {
  const ScratchDirectory directory;
  Tool(directory, "\"$QUIRE\" " + kTinyPoint + "--seq-lens 33 34 --json r.json | head -1").wait();
  EXPECT_EQ(parse_file(directory.file("r.json")).at("rows").size(), 2 * implementations().size());
}

TEST(Cli, a_full_disk_under_the_table_is_an_error) {
  const ScratchDirectory directory;
  const Outcome outcome = Tool(directory, "\"$QUIRE\" " + kTinyPoint + "--seq-lens 33 > /dev/full").wait();
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write to standard output: No space left on device"));
}

TEST(Cli, a_report_does_not_replace_the_table) {
  const ScratchDirectory directory;
  const Outcome outcome =
      Tool(directory, "\"$QUIRE\" " + kTinyPoint + "--seq-lens 33 --json /dev/stdout > table.txt").wait();
  EXPECT_EQ(outcome.exit_code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("--json: cannot write '/dev/stdout': standard output goes there"));
  EXPECT_THAT(directory.entries(), ElementsAre("table.txt"));
}

TEST(Cli, a_closed_stdout_puts_the_table_into_no_other_file) {
  const ScratchDirectory directory;
  Tool(directory, "\"$QUIRE\" " + kTinyPoint + "--seq-lens 33 --journal j >&- 2>&-").wait();
  EXPECT_THAT(read_file(directory.file("j")), StartsWith("{\"quire_journal\""));
  EXPECT_THAT(read_file(directory.file("j")), Not(HasSubstr("implementation  ")));
}

TEST(Cli, a_home_that_cannot_be_written_is_no_reason_not_to_measure) {
  const ScratchDirectory directory;
  const Outcome outcome = Tool(directory, "XDG_STATE_HOME=/dev/null \"$QUIRE\" " + kTinyPoint + "--seq-lens 33").wait();
  EXPECT_EQ(outcome.exit_code, kExitOk);
}

TEST(Cli, a_terminal_sees_progress_that_leaves_nothing_behind) {
  const ScratchDirectory directory;
  const std::string arguments = kTinyPoint + "--seq-lens 33 34";
  const std::string out = run_on_terminal(directory, arguments, 40).out;
  EXPECT_THAT(out, HasSubstr("\r[1/2] batch_size=2, seq_len=33"));
  EXPECT_THAT(out, HasSubstr(" \r\r\n====="));  // blanked before the table goes on
  EXPECT_THAT(run_on_terminal(directory, arguments + " --quiet", 40).out, Not(HasSubstr("[1/2]")));
}

TEST(Cli, verdicts_are_coloured_on_a_terminal_unless_no_color_is_set) {
  const ScratchDirectory directory;
  const std::string arguments = kTinyPoint + "--seq-lens 33 --dtype fp16 --kv-dtype fp32";
  EXPECT_THAT(run_on_terminal(directory, arguments, 100).out, HasSubstr("\x1b[33m"));
  EXPECT_THAT(run_on_terminal(directory, arguments, 100, {"NO_COLOR=1"}).out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run_on_terminal(directory, arguments, 100, {"TERM=dumb"}).out, Not(HasSubstr("\x1b")));
}

std::vector<Row> rows_of(const std::vector<std::string>& verdicts) {
  std::vector<Row> rows(verdicts.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i].verdict = verdicts[i];
  return rows;
}

TEST(ExitCode, tells_the_worst_of_all_rows) {
  EXPECT_EQ(exit_code_of(rows_of({"yes", "yes"})), kExitOk);
  EXPECT_EQ(exit_code_of(rows_of({"yes", "SKIP"})), kExitOk);
  EXPECT_EQ(exit_code_of(rows_of({"SKIP", "SKIP"})), kExitUsage);
  EXPECT_EQ(exit_code_of(rows_of({"yes", "NO"})), kExitWrong);
  EXPECT_EQ(exit_code_of(rows_of({"CRASH", "NO"})), kExitCrash);
  EXPECT_EQ(exit_code_of(rows_of({"NO", "TIMEOUT", "yes"})), kExitCrash);
}

}  // namespace
}  // namespace quire::bench
