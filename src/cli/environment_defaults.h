#pragma once

#include <array>
#include <string>

namespace weft::cli {

/// Settings that libraries read from the environment while or soon after they are loaded, and that
/// `environment` does not set: entries `NAME=value`, then null pointers.
std::array<const char*, 4> missing_environment(const char* const* environment);

/// Re-executes this program with the missing settings, if any. Meant to run before any constructor
/// (.preinit_array), since LibTorch's take twenty times as long as loading it again; hence it uses
/// nothing that constructors initialise. Returns if exec fails.
void reexec_with_environment(int count, char** values, char** environment);

/// Ends the program with an error if the limit of the address space (`ulimit -v`) is so low that a
/// constructor of LibTorch would abort. Runs before any constructor, like reexec_with_environment.
void check_address_space();

/// OpenMP's wait policy of this process, from the environment.
std::string omp_wait_policy();

}  // namespace weft::cli
