#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "support/program.h"

namespace weft::test {

inline std::string python() {
  const auto* given = std::getenv("WEFT_PYTHON");
  return given != nullptr ? given : "python3";
}

/// Why a script of scripts/parity cannot run here; empty: it can.
inline std::string missing_for_parity() {
  const auto known = run({"/usr/bin/env", "PYTHONDONTWRITEBYTECODE=1", python(), "-c",
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

inline ProcessResult run_parity(const std::string& name, std::vector<std::string> options = {}) {
  std::vector<std::string> command{"/usr/bin/env", "WEFT=" WEFT_BINARY, python(),
                                   WEFT_SOURCE_DIR "/scripts/parity/" + name};
  command.insert(command.end(), options.begin(), options.end());
  return run(command);
}

}  // namespace weft::test
