#pragma once

namespace weft {

/// The program `weft` with the arguments of `main`: the name of the program, a verb and its
/// arguments. A program that links Weft may add objectives before (register_objective in
/// objectives/objective_registry.h). Ignores SIGPIPE and installs handlers that stop a run. Prints
/// errors on standard error and returns the exit status: 0, 2 for a mistake of the user, 143 if
/// stopped, 1 otherwise.
int run(int count, char** values);

}  // namespace weft
