#include <csignal>

#include "bench/job.h"

namespace quire::bench {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

void note_interrupt(int /*signal*/) { interrupt_seen = 1; }

}  // namespace

bool interrupted() { return interrupt_seen != 0; }

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESETHAND;  // a second Ctrl-C ends the program at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace quire::bench
