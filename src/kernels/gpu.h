#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/chance.h"
#include "kernels/chance_bits.h"
#include "kernels/layout.h"

/// The operations of this room as a GPU computes them: by the kernels of LibTorch that do the most
/// in one launch, in the dtype of the tensors, with sums in fp32. They compute what `reference`
/// does, on every device, but for the drops of dropout: those are the device's own.
namespace weft::kernels::gpu {

/// The drops of what follows on this device are a pure function of the rule's key and of `first`,
/// the place of what is dropped in the whole step. They are others than the CPU's, and others where
/// a step is cut into other micro-batches.
void set_chance(const at::Device& device, const DropRule& rule, int64_t first);

at::Tensor dropout(const at::Tensor& x, double p, const Chance& chance);

at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon);

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const Chance& chance);

at::Tensor activate_gated(const at::Tensor& x, Activation activation);

/// Whether this device has flash attention (arXiv:2307.08691): NVIDIA GPUs since Ampere have.
bool has_flash_attention(const at::Device& device);

/// Whether flash attention computes this on a device that has it: in bf16 or fp16, from keys that
/// lie one sequence after the other, without biases and prefixes.
bool suits_flash_attention(const AttentionInput& input, const AttentionSettings& settings);

/// Flash attention over the packed sequences: no padding, and no scores in memory.
at::Tensor flash_attention(const AttentionInput& input,
                           const Layout& queries,
                           const Layout& keys,
                           const AttentionSettings& settings,
                           const Chance& chance);

}  // namespace weft::kernels::gpu
