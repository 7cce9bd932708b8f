// Reports are whole or not there.
#include "bench/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "tests/bench/scratch_directory.h"

namespace quire::bench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

std::string refusal(const std::string& path) {
  const Result<OutputFile> output = OutputFile::prepare("--json", path);
  EXPECT_FALSE(output.ok()) << path;
  return output.status().message();
}

TEST(OutputFile, appears_whole_under_its_name_alone) {
  const ScratchDirectory directory;
  const Result<OutputFile> output = OutputFile::prepare("--json", directory.file("report.json"));
  ASSERT_TRUE(output.ok());
  EXPECT_THAT(directory.entries(), IsEmpty());
  ASSERT_TRUE(output->write("all of it").ok());
  EXPECT_THAT(directory.entries(), ElementsAre("report.json"));
  EXPECT_EQ(read_file(directory.file("report.json")), "all of it");
}

TEST(OutputFile, leaves_the_old_report_until_the_new_one_is_there) {
  const ScratchDirectory directory;
  write_file(directory.file("report.json"), "old");
  const Result<OutputFile> output = OutputFile::prepare("--json", directory.file("report.json"));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(read_file(directory.file("report.json")), "old");
  ASSERT_TRUE(output->write("new").ok());
  EXPECT_EQ(read_file(directory.file("report.json")), "new");
}

TEST(OutputFile, writes_through_a_link_and_keeps_it) {
  const ScratchDirectory directory;
  write_file(directory.file("target"), "old");
  ASSERT_EQ(symlink("target", directory.file("link").c_str()), 0);
  const Result<OutputFile> output = OutputFile::prepare("--json", directory.file("link"));
  ASSERT_TRUE(output.ok());
  ASSERT_TRUE(output->write("new").ok());
  EXPECT_EQ(read_file(directory.file("target")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory.file("link")));
}

// A pipe stands for the devices: were one replaced, the machine would miss it.
TEST(OutputFile, writes_into_what_is_no_regular_file) {
  const ScratchDirectory directory;
  const std::string path = directory.file("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const FileDescriptor reader(open(path.c_str(), O_RDWR | O_NONBLOCK));
  const Result<OutputFile> output = OutputFile::prepare("--json", path);
  ASSERT_TRUE(output.ok());
  ASSERT_TRUE(output->write("text").ok());
  char text[4] = {};
  EXPECT_EQ(read(reader.get(), text, sizeof text), 4);
  EXPECT_EQ(std::string(text, sizeof text), "text");
  EXPECT_THAT(directory.entries(), ElementsAre("pipe"));
}

TEST(OutputFile, says_which_path_it_cannot_write_and_why) {
  const ScratchDirectory directory;
  EXPECT_THAT(refusal(directory.path()), StartsWith("--json: cannot write '" + directory.path() + "': Is a directory"));
  EXPECT_THAT(refusal(directory.file("missing/report.json")),
              StartsWith("--json: cannot write '" + directory.file("missing/report.json") + "': No such file"));
  write_file(directory.file("plain"), "");
  EXPECT_THAT(refusal(directory.file("plain/report.json")),
              StartsWith("--json: cannot write '" + directory.file("plain/report.json") + "': Not a directory"));
  EXPECT_THAT(directory.entries(), ElementsAre("plain"));
}

TEST(OutputFile, leaves_nothing_half_written) {
  const ScratchDirectory directory;
  write_file(directory.file("report.json"), "old");
  const Result<OutputFile> output = OutputFile::prepare("--json", directory.file("report.json"));
  ASSERT_TRUE(output.ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit four_bytes{.rlim_cur = 4, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &four_bytes), 0);
  const Status status = output->write("more than four bytes");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THAT(status.message(), StartsWith("--json: cannot write '" + directory.file("report.json") + "': File too "));
  EXPECT_THAT(directory.entries(), ElementsAre("report.json"));
  EXPECT_EQ(read_file(directory.file("report.json")), "old");
}

TEST(ResolvedPath, is_equal_for_two_names_of_one_file) {
  const ScratchDirectory directory;
  ASSERT_EQ(symlink(".", directory.file("here").c_str()), 0);
  EXPECT_EQ(resolved_path(directory.file("./here/./here/x.json")), resolved_path(directory.file("x.json")));
  EXPECT_NE(resolved_path(directory.file("x.json")), resolved_path(directory.file("y.json")));
  EXPECT_EQ(resolved_path("x.json"), resolved_path("./x.json"));
}

}  // namespace
}  // namespace quire::bench
