#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>

#include "kernels/to_device.h"
#include "objectives/objective.h"

namespace weft::objectives {

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
  auto* data = const_cast<float*>(batch.patches.data());  // nothing writes through it
  const auto rows = static_cast<int64_t>(batch.patches.size()) / batch.patch_width;
  const auto view = at::from_blob(data, {rows, batch.patch_width}, at::kFloat);
  return device.is_cpu() ? view.clone() : kernels::to_device(view, device);
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

}  // namespace weft::objectives
