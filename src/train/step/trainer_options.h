#pragma once

#include <cstdint>
#include <optional>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "train/step/step_failures.h"

namespace weft::train {

struct TrainerOptions {
  c10::Device device = c10::DeviceType::CPU;
  c10::ScalarType precision = c10::ScalarType::Float;
  int64_t threads = 1;
  bool measures_time = false;
  bool allows_changed_data = false;  // when resuming
  std::optional<StateKeptAcrossRollback> after_rollback = std::nullopt;
};

}  // namespace weft::train
