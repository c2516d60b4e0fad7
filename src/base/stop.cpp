#include "base/stop.h"

#include <atomic>
#include <csignal>
#include <ctime>
#include <string>

#include <unistd.h>

namespace weft {

namespace {

constexpr int kStoppedStatus = 143;
constexpr int64_t kDebounceNanoseconds = 100'000'000;  // nanoseconds

std::atomic<bool> requested{false};
std::atomic<int64_t> requested_at{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

extern "C" void handle_stop(int /*signal*/) {
  const int64_t time = now();
  if (!requested.exchange(true)) {
    requested_at.store(time);
  } else if (time - requested_at.load() > kDebounceNanoseconds) {
    _exit(kStoppedStatus);
  }
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = handle_stop;
  // No SA_RESTART, so that a blocking read of standard input is interrupted and can exit.
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    sigaction(signal, &action, nullptr);
  }
}

bool stop_requested() { return requested.load(std::memory_order_relaxed); }

void throw_if_stopped(const char* doing) {
  if (stop_requested()) {
    throw Stopped(std::string("stopped while ") + doing);
  }
}

void request_stop(bool is_requested) {
  requested_at.store(is_requested ? now() : 0);
  requested.store(is_requested);
}

}  // namespace weft
