#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::train {

/// Result of comparing two runs at one step.
struct Comparison {
  int64_t tensors = 0;                   // of all files of the checkpoint
  int64_t lines = 0;                     // of metrics.jsonl
  std::vector<std::string> differences;  // a sentence each, with its file

  bool is_equal() const { return differences.empty(); }
};

/// Compares the checkpoints of two run directories at `step`: every tensor bit for bit, the state
/// (except values that depend on time and machine), and the lines of metrics.jsonl up to `step`,
/// without times and throughput. Throws FileError, formats::Error.
Comparison compare_runs(const std::string& expected, const std::string& found, int64_t step);

}  // namespace weft::train
