#pragma once

namespace weft {

/// The program `weft` with the arguments of `main`. A program that links Weft registers its own
/// parts before: nn::register_attention, nn::register_feed_forward, ... Ignores SIGPIPE and
/// installs handlers that stop a run. Prints errors on standard error and returns the exit status:
/// 0, 2 for a mistake of the user, 143 if stopped, 1 otherwise.
int run(int count, char** values);

}  // namespace weft
