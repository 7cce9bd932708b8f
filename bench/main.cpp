// The `quire` tool: the hidden `worker` command serves run_job(), everything else is the command line's.
#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "bench/cli.h"
#include "bench/job.h"

namespace {

// Where a caller closed one of the three, the next file opened would get its number, and the table be written into it.
void open_missing_standard_descriptors() {
  int descriptor = 0;
  do {
    descriptor = open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor > STDERR_FILENO) close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker") return quire::bench::worker_main();
  open_missing_standard_descriptors();
  return quire::bench::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
