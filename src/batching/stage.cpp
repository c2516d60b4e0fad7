#include "batching/stage.h"

#include <ATen/Functions.h>

#include "kernels/to_device.h"

namespace weft::batching {

namespace {

/// A copy on the device: its life is not bound to the batch's.
at::Tensor staged(const std::vector<int64_t>& values, const at::Device& device) {
  return values.empty() ? at::Tensor() : kernels::to_device(values, device);
}

/// (P, C p p) of images.
at::Tensor staged_patches(const data::Batch& batch, const at::Device& device) {
  if (batch.patches.empty()) {
    return {};
  }
  return kernels::to_device(batch.patches, device).view({-1, batch.patch_width});
}

}  // namespace

models::TextInput stage_input(const data::Batch& batch, const at::Device& device) {
  return {.ids = staged(batch.ids, device),
          .types = staged(batch.types, device),
          .patches = staged_patches(batch, device)};
}

Staged stage(const data::Batch& batch, const at::Device& device) {
  Staged result;
  result.input = stage_input(batch, device);
  result.pass.layout = kernels::Layout::of(batch.offsets, device);
  if (!batch.positions.empty()) {
    result.pass.layout = result.pass.layout.at_places(batch.positions);
  }
  return result;
}

}  // namespace weft::batching
