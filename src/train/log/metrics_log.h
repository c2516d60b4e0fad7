#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "formats/tensorboard_events.h"
#include "train/step/evaluate.h"

namespace weft::train {

/// Tag of an evaluation's metric: `eval/loss` for `eval_loss`.
std::string evaluation_tag(std::string_view metric);
/// The metric of such a tag; nullopt for other tags.
std::optional<std::string> evaluation_metric(std::string_view tag);

/// The metrics of a run: metrics.jsonl and a TensorBoard event file, with the same tags in both.
class MetricsLog {
 public:
  /// Resumes the log of a run directory after `step`: removes lines and events of later steps, and
  /// the evaluation at `step` if it is still pending. Throws FileError.
  MetricsLog(const std::string& directory, int64_t step, bool pending_evaluation = false);

  using Metrics = std::vector<std::pair<std::string, double>>;
  /// Writes one line and its events; metrics that are not finite are left out. A failed write is
  /// logged as an error and retried in the next call.
  void write(int64_t step, const Metrics& metrics);
  /// Writes other values of TensorBoard (formats/tensorboard_values.h). A failed write is handled
  /// as that of metrics.
  void write_values(int64_t step, const std::vector<std::string>& values);
  /// Waits until everything is on disk, before a checkpoint that relies on it.
  void sync();

 private:
  void attempt(const std::function<void()>& work);

  std::unique_ptr<FileWriter> lines_;
  formats::EventWriter events_;
  bool has_failed_ = false;  // since the last success
};

/// Metrics in metrics.jsonl of the run's best checkpoint, or of its last evaluation if it keeps no
/// best one: eval_loss, ... Empty if the run was never evaluated.
struct RunMetrics {
  int64_t step = 0;
  Metrics metrics;
};
RunMetrics read_run_metrics(const std::string& directory);

}  // namespace weft::train
