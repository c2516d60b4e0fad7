#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "formats/events.h"

namespace weft::train {

/// The figures of a run: metrics.jsonl and a TensorBoard event file, with the same tags in both.
class MetricsLog {
 public:
  /// Goes on in a run directory after `step`: lines and events later than that are cut off, and the
  /// evaluation at that step where it is owed still. Throws FileError.
  MetricsLog(const std::string& directory, int64_t step, bool owes_evaluation = false);

  using Figures = std::vector<std::pair<std::string, double>>;
  /// One line and its events; figures that are not finite are left out. What cannot be written is
  /// told as an error and kept for the next call.
  void write(int64_t step, const Figures& figures);
  /// Waits until all is on the disk, for a checkpoint that will count on it.
  void sync();

 private:
  void attempt(const std::function<void()>& work);

  std::unique_ptr<FileWriter> lines_;
  formats::EventWriter events_;
  bool has_failed_ = false;  // since the last success
};

}  // namespace weft::train
