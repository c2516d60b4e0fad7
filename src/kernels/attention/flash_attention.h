#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/attention/attention.h"
#include "kernels/layout.h"
#include "kernels/random_bits.h"

/// Flash attention of LibTorch (arXiv:2307.08691). Matches `reference` except for the dropout
/// masks, which come from the device's generator, and change when a step is split into other
/// micro-batches.
namespace weft::kernels::gpu {

/// Seeds the device's generator: the masks of attention weights that follow are a pure function of
/// the rule's key and `first`, the position of the first sequence in the whole step.
void seed_dropout(const at::Device& device, const DropoutRule& rule, int64_t first);

/// Whether this device supports flash attention: NVIDIA GPUs since Ampere do.
bool has_flash_attention(const at::Device& device);

/// Whether flash attention, on a device that has it, supports these inputs: bf16 or fp16, keys of
/// consecutive sequences contiguous, no biases and no prefixes.
bool supports_flash_attention(const AttentionInput& input, const AttentionSettings& settings);

/// Flash attention over the packed sequences: no padding, and no score matrix in memory. Sequences
/// of one length may be computed by cuDNN instead.
at::Tensor flash_attention(const AttentionInput& input,
                           const Layout& queries,
                           const Layout& keys,
                           const AttentionSettings& settings,
                           const RngKey& rng_key);

}  // namespace weft::kernels::gpu
