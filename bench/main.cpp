// The `quire` tool: the hidden `worker` command serves run_job(), everything else is the command line's.
#include <string>
#include <string_view>
#include <vector>

#include "bench/cli.h"
#include "bench/job.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "worker") return quire::bench::worker_main();
  return quire::bench::run_command_line(std::vector<std::string>(argv + 1, argv + argc));
}
