#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/custom_class.h>

#include "kernels/attention/attention.h"
#include "kernels/chance_bits.h"

/// How the vector code of attention is called: over all heads of all sequences, forward and back.
namespace weft::kernels {

/// What the backward pass must know besides tensors.
struct AttentionPlan : torch::CustomClassHolder {
  std::vector<int64_t> offsets;      // of queries
  std::vector<int64_t> key_begins;   // B
  std::vector<int64_t> key_lengths;  // B
  std::vector<int64_t> prefixes;     // B, or empty: keys that all queries see, if causal
  std::vector<int64_t> order;        // of sequences, longest first: the last tasks are small ones
  int64_t heads = 1;
  int64_t key_heads = 1;
  int64_t width = 0;  // K
  int64_t first_sequence = 0;
  int64_t span = 0;  // distances of the bias on each side, 0 included
  float scale = 1;
  bool is_causal = false;
  bool has_gaps = false;  // rows of queries without keys, or of keys without queries
  int64_t reach = -1;
  at::Tensor rotary;  // (L or more, K) fp32, or undefined
  DropRule rule;

  int64_t length(int64_t b) const {
    const auto i = static_cast<std::size_t>(b);
    return offsets[i + 1] - offsets[i];
  }
};

/// Where queries and keys of each sequence lie.
struct AttentionSides {
  const Layout& queries;
  const Layout& keys;
  std::vector<int64_t> key_begins = {};  // empty: one sequence after the other
};

c10::intrusive_ptr<AttentionPlan> make_attention_plan(int64_t width,
                                                      const AttentionSides& sides,
                                                      const AttentionSettings& settings,
                                                      const Chance& chance);

/// Rows may lie apart; keys and values the same way.
struct AttentionTensors {
  at::Tensor q = {};
  at::Tensor k = {};
  at::Tensor v = {};
  at::Tensor out = {};
  at::Tensor lse = {};   // (H, N) fp32
  at::Tensor bias = {};  // padded_bias, or undefined
  // Backward only.
  at::Tensor gradient = {};  // of out
  at::Tensor dq = {};
  at::Tensor dk = {};
  at::Tensor dv = {};
  at::Tensor dbias = {};  // (B, H, columns of the bias) fp32, or undefined
};

/// A bias (H, 2 span - 1) as the kernels want it: of log2, with a margin. Undefined stays so.
at::Tensor padded_bias(const std::optional<at::Tensor>& bias);

/// Fills out and lse.
void attend(const AttentionPlan& plan, AttentionTensors& tensors);

/// Fills dq, dk and dv. -> the gradient of the bias, where there is one.
at::Tensor attend_back(const AttentionPlan& plan, AttentionTensors& tensors);

}  // namespace weft::kernels
