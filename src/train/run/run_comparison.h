#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::train {

/// What two runs have in common at one step, and what not.
struct Comparison {
  int64_t tensors = 0;                   // of all files of the checkpoint
  int64_t lines = 0;                     // of metrics.jsonl
  std::vector<std::string> differences;  // a sentence each, with its file

  bool is_equal() const { return differences.empty(); }
};

/// Compares the checkpoints of that step of two run directories, every tensor bit for bit, the
/// state (without what the clock and the machine decide), and the lines of metrics.jsonl up to it,
/// without times and rates. Throws FileError, formats::Error.
Comparison compare_runs(const std::string& expected, const std::string& found, int64_t step);

}  // namespace weft::train
