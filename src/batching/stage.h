#pragma once

#include <ATen/core/Tensor.h>

#include "data/batch.h"
#include "models/model.h"
#include "nn/pass.h"

namespace weft::batching {

/// The batch's ids and types on `device`.
models::TextInput stage_input(const data::Batch& batch, const at::Device& device);

/// The batch's ids, types on `device`, and the Pass that goes with them (not training; set the
/// rest).
struct Staged {
  models::TextInput input;
  nn::Pass pass;
};
Staged stage(const data::Batch& batch, const at::Device& device);

}  // namespace weft::batching
