#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/layout.h"
#include "kernels/norm.h"
#include "kernels/random_bits.h"

/// Plain ATen versions of this library's operations, differentiable by autograd and correct on
/// every device and dtype. The fused kernels are tested against them; they also run where no fused
/// kernel applies.
namespace weft::kernels::reference {

/// 16-bit random values of the elements of `tiles` tiles starting at `first_tile`. The counter has
/// four words: low word of the index, high word plus `second`, `third`, and 0. second, third (...,
/// 1, 1) int64 -> (..., tiles * 128) int64.
at::Tensor philox_bits(const DropoutRule& rule,
                       int64_t first_tile,
                       int64_t tiles,
                       const at::Tensor& second,
                       const at::Tensor& third);

/// 0 where the random value is below the threshold, else the scale; fp32.
at::Tensor dropout_mask(const DropoutRule& rule, const at::Tensor& bits);

/// 0 or the scale for each element of a (rows, columns) dropout, in fp32.
at::Tensor dropout_mask(
    int64_t rows, int64_t columns, double p, const RngKey& rng_key, const at::Device& device);

at::Tensor dropout(const at::Tensor& x, double p, const RngKey& rng_key);

at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon);

at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const RngKey& rng_key);

at::Tensor add_dropout_norm(const at::Tensor& residual,
                            const at::Tensor& branch,
                            const NormWeights& norm,
                            double p,
                            const RngKey& rng_key);

at::Tensor activate(const at::Tensor& x, Activation activation);

at::Tensor activate_gated(const at::Tensor& x, Activation activation);

/// x (..., L, H, K) rotated by the rows of a rotary table, (L, K).
at::Tensor rotate(const at::Tensor& x, const at::Tensor& table);

/// What the distance vectors add to the scores before they are scaled, (G, H, L, S). q (G, H, L,
/// K), k (G, H, S, K); distance: position of each key minus that of each query, (L, S), (1, 1, L,
/// S) or (G, 1, L, S).
at::Tensor distance_scores(const at::Tensor& q,
                           const at::Tensor& k,
                           const at::Tensor& distance,
                           const DistanceVectors& vectors);

at::Tensor attention(const at::Tensor& qkv,
                     const Layout& layout,
                     const AttentionSettings& settings,
                     const RngKey& rng_key);

at::Tensor attention(const AttentionInput& input,
                     const Layout& queries,
                     const Layout& keys,
                     const AttentionSettings& settings,
                     const RngKey& rng_key);

PartialAttention partial_attention(const AttentionInput& input,
                                   const Layout& queries,
                                   const Layout& keys,
                                   const AttentionSettings& settings,
                                   const RngKey& rng_key);

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

at::Tensor embedding_sum(const at::Tensor& word,
                         const at::Tensor& ids,
                         const at::Tensor& position,
                         const at::Tensor& positions,
                         const at::Tensor& type,
                         const at::Tensor& types);

at::Tensor embedding_mean(const at::Tensor& table, const at::Tensor& ids, const Layout& layout);

at::Tensor linear_cross_entropy(const at::Tensor& x,
                                const at::Tensor& weight,
                                const at::Tensor& bias,
                                const at::Tensor& targets);

at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace weft::kernels::reference
