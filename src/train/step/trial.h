#pragma once

#include <memory>
#include <string>

#include "train/checkpoint/temporary_directory.h"
#include "train/run/device.h"
#include "train/step/trainer.h"

namespace weft::train {

/// A run in a temporary directory that is removed at the end: for what is tried out only.
class Trial {
 public:
  Trial(const RunConfig& config, bool measures_parts);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  Trainer& trainer() { return *trainer_; }
  const Task& task() const { return task_; }
  const c10::Device& device() const { return device_; }
  const PrecisionChoice& precision() const { return precision_; }
  const std::string& directory() const { return place_.path(); }
  /// One more step; of a run that is at its end already, nothing is told. Throws UserError.
  void step();

 private:
  TemporaryDirectory place_{"weft-trial"};  // first, so that it goes last
  RunConfig config_;
  c10::Device device_;
  PrecisionChoice precision_;
  Task task_;
  std::unique_ptr<RunDirectory> directory_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace weft::train
