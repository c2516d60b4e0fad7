#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/program.h"

namespace weft::cli {
namespace {

std::string python() {
  const auto* given = std::getenv("WEFT_PYTHON");
  return given != nullptr ? given : "python3";
}

/// Why a script of scripts/parity cannot run here; empty: it can.
std::string missing() {
  const auto known = test::run({"/usr/bin/env", "PYTHONDONTWRITEBYTECODE=1", python(), "-c",
                                "import safetensors.torch, transformers; "
                                "print(transformers.__version__.split('.')[0])"});
  if (known.status != 0) {
    return "no Python with transformers, torch and safetensors (WEFT_PYTHON names one)";
  }
  if (std::atoi(known.out.c_str()) < 5) {
    return "transformers " + known.out + " is older than 5, which the script is for";
  }
  return "";
}

test::Finished run_script(const std::string& name, std::vector<std::string> options = {}) {
  std::vector<std::string> command{"/usr/bin/env", "WEFT=" WEFT_BINARY, python(),
                                   WEFT_SOURCE_DIR "/scripts/parity/" + name};
  command.insert(command.end(), options.begin(), options.end());
  return test::run(command);
}

/// Not the stored numbers of tests/reference, but the library itself, with weights nobody has seen.
TEST(LiveParity, ModelsComputeWhatTransformersComputes) {
  if (const auto why = missing(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto done = run_script("models.py");
  EXPECT_EQ(done.status, 0) << done.out << done.err;
}

TEST(LiveParity, DecodingGivesWhatTransformersGives) {
  if (const auto why = missing(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto done = run_script("decoding.py", {"--prompts", "24"});
  EXPECT_EQ(done.status, 0) << done.out << done.err;
}

}  // namespace
}  // namespace weft::cli
