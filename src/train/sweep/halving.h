#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/log/metrics_log.h"

namespace weft::train {

/// One round of successive halving (arXiv:1502.07943, figure 3).
struct HalvingRound {
  std::size_t settings = 0;  // that take part, the best of the round before
  double share = 1;          // of the duration of a run at which they are compared
};

/// The rounds for this many settings: each keeps the best 1 / factor for factor times as long; the
/// last one is a whole run. factor 0: a single round.
std::vector<HalvingRound> halving_rounds(std::size_t settings, int64_t factor);

/// What the runs of earlier rounds had achieved, in a file, so that a sweep that was interrupted
/// compares the same numbers again although some runs have gone on.
class HalvingRecord {
 public:
  /// `config`: identifies the sweep; the record of another one is ignored. `is_kept`: whether an
  /// existing record is read.
  HalvingRecord(std::string path, std::string config, bool is_kept);

  std::optional<RunMetrics> find(double share, const std::string& run) const;
  void add(double share, const std::string& run, const RunMetrics& metrics);

 private:
  std::string path_;
  std::string config_;
  std::map<std::string, RunMetrics> runs_;
};

}  // namespace weft::train
