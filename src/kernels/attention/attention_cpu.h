#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include "kernels/attention/attention.h"
#include "kernels/random_bits.h"

/// Interface to the vectorised attention: over all heads of all sequences, forward and backward.
namespace weft::kernels {

/// Non-tensor arguments that the backward pass needs.
struct AttentionPlan : torch::CustomClassHolder {
  std::vector<int64_t> offsets;         // of the queries
  std::vector<int64_t> key_begins;      // B
  std::vector<int64_t> key_lengths;     // B
  std::vector<int64_t> prefix_lengths;  // B, or empty: keys that all queries attend to, if causal
  std::vector<int64_t> order;  // sequences by descending work, so that the last tasks are small
  int64_t heads = 1;
  int64_t key_heads = 1;
  int64_t width = 0;  // K
  int64_t first_sequence = 0;
  int64_t span = 0;  // distances covered by the bias on each side, including 0
  float scale = 1;
  bool is_causal = false;
  bool wants_lse = false;  // as a result of its own
  bool has_gaps = false;   // query rows without keys, or key rows without queries
  int64_t window_radius = -1;
  at::Tensor rotary;                                          // (at least L, K) fp32, or undefined
  std::shared_ptr<const AttentionGroups> groups;              // or nullptr
  std::shared_ptr<const std::vector<int32_t>> distance_rows;  // DistanceVectors::rows, or nullptr
  DropoutRule rule;

  int64_t length(int64_t b) const {
    const auto i = static_cast<std::size_t>(b);
    return offsets[i + 1] - offsets[i];
  }
};

/// Locations of the queries and keys of each sequence.
struct AttentionLayouts {
  const Layout& queries;
  const Layout& keys;
  std::vector<int64_t> key_begins = {};  // empty: consecutive sequences
};

c10::intrusive_ptr<AttentionPlan> make_attention_plan(
    int64_t width,
    const AttentionLayouts& layouts,
    const AttentionSettings& settings,
    const RngKey& rng_key,
    std::shared_ptr<const AttentionGroups> groups = nullptr);

/// Products of the attention over all pairs of a query and a key. Forward: the scores Q K^T, and
/// their weights by V. Backward: the scores again, and the gradients of the weights, Q, K and V.
inline constexpr int64_t kForwardProducts = 2;
inline constexpr int64_t kBackwardProducts = 5;

/// Floating-point operations of one such product. Only pairs that the mask allows count.
int64_t attention_product_flops(const AttentionPlan& plan);

/// Rows may be strided; keys and values have the same stride.
struct AttentionTensors {
  at::Tensor q = {};
  at::Tensor k = {};
  at::Tensor v = {};
  at::Tensor out = {};
  at::Tensor lse = {};   // (H, N) fp32
  at::Tensor bias = {};  // padded_bias, or undefined
  /// Products of queries and keys with DistanceVectors, (H, N, R), contiguous; or undefined.
  at::Tensor query_distances = {};
  at::Tensor key_distances = {};
  // Backward only.
  at::Tensor gradient = {};  // of out
  at::Tensor dlse = {};      // (H, N) fp32, gradient of the natural logarithm; or undefined
  at::Tensor dq = {};
  at::Tensor dk = {};
  at::Tensor dv = {};
  at::Tensor dbias = {};             // (B, H, columns of the bias) fp32, or undefined
  at::Tensor dquery_distances = {};  // fp32, not scaled
  at::Tensor dkey_distances = {};
};

/// Bias (H, 2 span - 1) in the kernels' format: scaled to log2 and padded. Undefined if `bias` is.
at::Tensor padded_bias(const std::optional<at::Tensor>& bias);

/// Computes out and lse.
void attend(const AttentionPlan& plan, AttentionTensors& tensors);

/// Computes dq, dk, dv and the gradients of the distances. -> gradient of the bias, if there is
/// one. A bias and distances exclude each other.
at::Tensor attend_backward(const AttentionPlan& plan, AttentionTensors& tensors);

}  // namespace weft::kernels
