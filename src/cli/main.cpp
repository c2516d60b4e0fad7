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

// Called by the dynamic loader before the constructors of all libraries.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*early_start)(int, char**, char**) = &reexec_with_environment;

}  // namespace
}  // namespace weft::cli

int main(int count, char** values) { weft::cli::leave(weft::run(count, values)); }
