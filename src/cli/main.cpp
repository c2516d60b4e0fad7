#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "cli/environment_defaults.h"
#include "cli/run.h"

namespace weft::cli {
namespace {

/// Exits without the destructors of static objects: LibTorch's take a tenth of a second to free
/// memory that the system reclaims anyway.
[[noreturn]] void leave(int status) {
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(status);
}

void start_early(int count, char** values, char** environment) {
  check_address_space();
  reexec_with_environment(count, values, environment);
}

// Called by the dynamic loader before the constructors of all libraries.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*early_start)(int, char**, char**) = &start_early;

}  // namespace
}  // namespace weft::cli

int main(int count, char** values) { weft::cli::leave(weft::run(count, values)); }
