#pragma once

#include <ATen/core/Tensor.h>

#include "data/batch.h"
#include "models/model.h"
#include "nn/forward_context.h"

namespace weft::batching {

/// The batch's ids and types on `device`.
models::TextInput input_to_device(const data::Batch& batch, const at::Device& device);

/// The model inputs on `device` and their ForwardContext (not training; set the rest).
struct DeviceBatch {
  models::TextInput input;
  nn::ForwardContext context;
};
DeviceBatch to_device(const data::Batch& batch, const at::Device& device);

/// The context alone, for callers whose objective moves the input itself.
nn::ForwardContext context_of(const data::Batch& batch, const at::Device& device);

/// Sets layout and sentences of the batch in a context.
void set_sequences(const data::Batch& batch, const at::Device& device, nn::ForwardContext& context);

}  // namespace weft::batching
