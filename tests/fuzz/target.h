#pragma once

#include <string>
#include <string_view>

namespace weft::fuzz {

/// Runs the reader. It may reject the input with a UserError with a one-line message;
/// any other exception, a crash or a hang is a finding.
template <class Read>
void try_reading(const Read& read);

/// Writes the bytes to a file of this name, in a directory of this process, and returns its path.
std::string scratch_file(const std::string& name, std::string_view bytes);
/// This directory, which is removed at the end of the process.
const std::string& scratch_folder();

/// The input's parts between lines `-----`, for readers of several files: always `count` of them.
std::string part_of(std::string_view input, int part);

namespace detail {
void check_message(std::string_view message);
}  // namespace detail

}  // namespace weft::fuzz

#include "base/error.h"

template <class Read>
void weft::fuzz::try_reading(const Read& read) {
  try {
    read();
  } catch (const UserError& refusal) {
    detail::check_message(refusal.what());
  }
}

// Makes the function weft::fuzz::NAME the target of a program of libFuzzer; elsewhere the replay
// calls it.
#ifdef WEFT_LIBFUZZER
#include <cstddef>
#include <cstdint>
#define WEFT_FUZZ_TARGET(NAME)                                                    \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, std::size_t size) { \
    weft::fuzz::NAME({reinterpret_cast<const char*>(bytes), size});               \
    return 0;                                                                     \
  }
#else
#define WEFT_FUZZ_TARGET(NAME)
#endif
