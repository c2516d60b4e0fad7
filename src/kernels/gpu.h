#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/layout.h"
#include "kernels/random_bits.h"

/// GPU versions of this library's operations: LibTorch's most fused kernels, in the dtype of the
/// tensors, with sums in fp32. They match `reference` on every device, except for the dropout
/// masks, which come from the device's generator.
namespace weft::kernels::gpu {

/// Seeds the device's generator: the dropout masks that follow are a pure function of the rule's
/// key and `first`, the position of the dropped elements in the whole step. They differ from the
/// CPU's, and change when a step is split into different micro-batches.
void seed_dropout(const at::Device& device, const DropoutRule& rule, int64_t first);

at::Tensor dropout(const at::Tensor& x, double p, const RngKey& rng_key);

at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon);

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const RngKey& rng_key);

at::Tensor activate_gated(const at::Tensor& x, Activation activation);

/// Whether this device supports flash attention (arXiv:2307.08691): NVIDIA GPUs since Ampere do.
bool has_flash_attention(const at::Device& device);

/// Whether flash attention, on a device that has it, supports these inputs: bf16 or fp16, keys of
/// consecutive sequences contiguous, no biases and no prefixes.
bool supports_flash_attention(const AttentionInput& input, const AttentionSettings& settings);

/// Flash attention over the packed sequences: no padding, and no score matrix in memory.
at::Tensor flash_attention(const AttentionInput& input,
                           const Layout& queries,
                           const Layout& keys,
                           const AttentionSettings& settings,
                           const RngKey& rng_key);

}  // namespace weft::kernels::gpu
