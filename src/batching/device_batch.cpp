#include "batching/device_batch.h"

#include <ATen/Functions.h>

#include "kernels/to_device.h"

namespace weft::batching {

namespace {

/// A copy on the device, independent of the batch's lifetime.
at::Tensor to_device_or_empty(const std::vector<int64_t>& values, const at::Device& device) {
  return values.empty() ? at::Tensor() : kernels::to_device(values, device);
}

/// Patches of the images, (P, C p p).
at::Tensor patches_to_device(const data::Batch& batch, const at::Device& device) {
  if (batch.patches.empty()) {
    return {};
  }
  return kernels::to_device(batch.patches, device).view({-1, batch.patch_width});
}

}  // namespace

models::TextInput input_to_device(const data::Batch& batch, const at::Device& device) {
  return {.ids = to_device_or_empty(batch.ids, device),
          .types = to_device_or_empty(batch.token_type_ids, device),
          .patches = patches_to_device(batch, device)};
}

DeviceBatch to_device(const data::Batch& batch, const at::Device& device) {
  return {.input = input_to_device(batch, device), .context = context_of(batch, device)};
}

void set_sequences(const data::Batch& batch,
                   const at::Device& device,
                   nn::ForwardContext& context) {
  context.layout = kernels::Layout::from_offsets(batch.offsets, device);
  if (!batch.positions.empty()) {
    context.layout = context.layout.with_positions(batch.positions);
  }
  if (!batch.sentence_counts.empty()) {
    context.sentences = {.lengths = batch.sentence_lengths,
                         .counts = batch.sentence_counts,
                         .targets = batch.targets_per_row()};
  }
}

nn::ForwardContext context_of(const data::Batch& batch, const at::Device& device) {
  nn::ForwardContext context;
  set_sequences(batch, device, context);
  return context;
}

}  // namespace weft::batching
