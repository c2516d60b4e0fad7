#pragma once

#include <array>
#include <string>

namespace weft::cli {

/// Settings that libraries read from the environment while they are loaded or soon after, and that
/// `environment` says nothing of: entries `NAME=value`, then null pointers.
std::array<const char*, 4> missing_settings(const char* const* environment);

/// Starts this program again with the missing settings, where there are any. Meant to run before
/// any constructor (.preinit_array), LibTorch's take twenty times as long as loading it again;
/// hence touches nothing that constructors set up. Returns where the start fails.
void restart_with_settings(int count, char** values, char** environment);

/// How OpenMP's threads wait for work in this process, as it stands in the environment.
std::string thread_wait();

}  // namespace weft::cli
