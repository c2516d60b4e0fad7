#pragma once

#include <memory>
#include <string>

#include "base/file.h"
#include "train/run/device.h"
#include "train/step/trainer.h"

namespace weft::train {

/// A short run in a temporary directory that is removed at the end, for dry runs and measurements.
class ProbeRun {
 public:
  ProbeRun(const RunConfig& config, bool measures_time);
  ProbeRun(const ProbeRun&) = delete;
  ProbeRun& operator=(const ProbeRun&) = delete;

  Trainer& trainer() { return *trainer_; }
  const RunComponents& components() const { return components_; }
  const c10::Device& device() const { return device_; }
  const PrecisionChoice& precision() const { return precision_; }
  const std::string& directory() const { return temporary_directory_.path(); }
  /// Does one more step. Throws UserError if the data ends first.
  void step();

 private:
  TemporaryDirectory temporary_directory_{"weft-trial"};  // declared first, so destroyed last
  RunConfig config_;
  c10::Device device_;
  PrecisionChoice precision_;
  RunComponents components_;
  std::unique_ptr<RunDirectory> directory_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace weft::train
