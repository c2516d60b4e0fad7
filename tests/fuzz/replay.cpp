#include "fuzz/replay.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>

#include <gtest/gtest.h>

#include "fuzz/mutate.h"
#include "fuzz/target.h"

namespace weft::fuzz {

namespace {

constexpr std::chrono::seconds kLongest{5};

bool survives(const std::string& which, void (*target)(std::string_view), std::string_view input) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    target(input);
  } catch (const std::exception& error) {
    ADD_FAILURE() << which << ": " << error.what() << "\n(the input is "
                  << std::string(input.substr(0, 2000)) << ")";
    return false;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongest) << which;
  return true;
}

}  // namespace

void replay(const std::string& name, void (*target)(std::string_view)) {
  const auto seeds = seeds_of(name);
  int failures = 0;
  for (std::size_t seed = 0; seed < seeds.size(); ++seed) {
    failures += survives(name + " seed " + std::to_string(seed), target, seeds[seed]) ? 0 : 1;
  }
  const uint64_t count = std::getenv("WEFT_TORTURE") != nullptr ? 40'000 : 400;
  for (uint64_t number = 0; number < count && failures < 5; ++number) {
    const auto which = name + " damage " + std::to_string(number);
    failures += survives(which, target, damaged(seeds, number)) ? 0 : 1;
  }
}

}  // namespace weft::fuzz
