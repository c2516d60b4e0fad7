#pragma once

#include <stdexcept>

namespace weft {

/// The run was asked to stop (SIGTERM, SIGINT, SIGUSR1) and has shut down cleanly. `main` exits
/// with status 143.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Installs handlers for SIGTERM, SIGINT and SIGUSR1: the first signal requests a stop, a second
/// exits at once (status 143). A second one within 0.1 s is ignored, because `timeout` and
/// launchers signal both a process and its group.
void install_signal_handlers();

/// Whether a stop was requested. Long loops poll it and exit cleanly.
bool stop_requested();

/// Throws Stopped if a stop was requested; `doing` appears in the message ("tokenising").
void throw_if_stopped(const char* doing);

/// Sets or clears the request; for tests.
void request_stop(bool is_requested);

}  // namespace weft
