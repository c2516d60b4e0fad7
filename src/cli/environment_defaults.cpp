#include "cli/environment_defaults.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "base/machine.h"
#include "base/string_util.h"

namespace weft::cli {
namespace {

struct EnvironmentDefault {
  const char* entry;
  std::array<const char*, 2> names;  // if one of them is set, the user has chosen
};

constexpr const char* kPolicy = "OMP_WAIT_POLICY";
constexpr const char* kSpins = "GOMP_SPINCOUNT";

constexpr std::array<EnvironmentDefault, 4> kDefaults = {{
    // libgomp spins for milliseconds by default, so that two trainings on the same cores slow each
    // other down tenfold. This many rounds take about as long as waking a thread, 20 to 100
    // microseconds: sleeping afterwards never costs more than twice the optimal choice.
    {"GOMP_SPINCOUNT=2000", {kPolicy, kSpins}},
    // tcmalloc keeps memory freed by a step for the next one.
    {"TCMALLOC_RELEASE_RATE=0", {"TCMALLOC_RELEASE_RATE", nullptr}},
    // LibTorch requests huge pages for large tensors.
    {"THP_MEM_ALLOC_ENABLE=1", {"THP_MEM_ALLOC_ENABLE", nullptr}},
    // oneDNN caches the code for the last 1,024 product shapes. Packed batches have new shapes in
    // each step: that would be hundreds of MiB of code that never runs again.
    {"ONEDNN_PRIMITIVE_CACHE_CAPACITY=64",
     {"ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY"}},
}};

bool has(const char* const* environment, const char* name) {
  const std::size_t length = name == nullptr ? 0 : std::strlen(name);
  for (; length > 0 && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
      return true;
    }
  }
  return false;
}

}  // namespace

std::array<const char*, 4> missing_environment(const char* const* environment) {
  std::array<const char*, 4> missing{};
  std::size_t size = 0;
  for (const auto& setting : kDefaults) {
    if (!has(environment, setting.names[0]) && !has(environment, setting.names[1])) {
      missing[size++] = setting.entry;
    }
  }
  return missing;
}

void reexec_with_environment(int /*count*/, char** values, char** environment) {
  if (environment == nullptr) {
    return;
  }
  const auto missing = missing_environment(environment);
  if (missing[0] == nullptr) {
    return;
  }
  static std::array<char*, 4096> entries{};  // the heap may not be initialised yet
  std::size_t size = 0;
  for (; environment[size] != nullptr; ++size) {
    if (size + missing.size() + 1 >= entries.size()) {
      return;
    }
    entries[size] = environment[size];
  }
  for (const char* entry : missing) {
    entries[size++] = const_cast<char*>(entry);  // exec writes to none of them
  }
  // The path of the program: started as /proc/self/exe the process would be called `exe`.
  static std::array<char, 4096> path{};
  if (::readlink("/proc/self/exe", path.data(), path.size() - 1) > 0) {
    ::execve(path.data(), values, entries.data());
  }
}

void check_address_space() {
  constexpr int64_t kLeast = int64_t{512} << 20;  // bytes; constructors abort below 440 MiB
  const auto limit = address_space_limit();
  if (limit >= 0 && limit < kLeast) {
    ::dprintf(STDERR_FILENO, "%s\n",
              "error: the address space of this process is limited to less than 512 MiB "
              "(ulimit -v), too little to load LibTorch: raise the limit");
    ::_exit(2);
  }
}

std::string omp_wait_policy() {
  std::string found;
  for (const char* name : {kPolicy, kSpins}) {
    const char* value = std::getenv(name);
    if (value != nullptr) {
      found += str_cat(found.empty() ? "" : " ", name, "=", value);
    }
  }
  return found;
}

}  // namespace weft::cli
