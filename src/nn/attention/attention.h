#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <torch/nn/module.h>

#include "config/section.h"
#include "kernels/attention/rotary.h"
#include "nn/forward_context.h"
#include "nn/row_selection.h"

namespace weft::nn {

enum class AttentionType { kFull, kWindow };

struct AttentionOptions {
  AttentionType type = AttentionType::kFull;
  int64_t dim = 0;         // D
  int64_t heads = 0;       // H, divides D
  int64_t window = 0;      // kWindow: half of it on each side; causal: the token itself and
                           // window - 1 before it
  int64_t layer = 0;       // index of the block; part of the dropout site
  bool is_causal = false;  // a token attends to itself and those before it
  bool has_bias = true;    // of the projections
  double theta = 0;        // base of RoPE (arXiv:2104.09864); 0: no RoPE
  kernels::RotaryOptions rotary = {};        // other RoPE options; width 0: whole heads
  int64_t key_heads = 0;                     // G (arXiv:2305.13245); 0: H
  int64_t head_dim = 0;                      // K; 0: D / H
  int64_t encoder_dim = 0;                   // cross attention: width of the encoder states; 0: D
  double scale = 0;                          // of the scores; 0: 1 / sqrt(K)
  std::optional<bool> has_output_bias = {};  // of the output projection; nullopt: as has_bias
  bool has_distance_bias = false;            // ForwardContext::distance_bias is added to the scores
  double dropout = 0.1;                      // on the attention weights
};

/// Attention within each sequence, including the output projection. Norm, residual and output
/// dropout belong to the block.
class Attention : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x,
                             const ForwardContext& context) = 0;  // (N, D) -> (N, D)
  /// Computes only the selected rows of forward(): (N, D) -> (M, D).
  virtual at::Tensor forward_selected(const at::Tensor& x,
                                      const ForwardContext& context,
                                      const RowSelection& selection) = 0;

  /// Attention weights of forward() for the same input, without dropout: (H, L, L) in fp32 for each
  /// sequence, rows are queries. A separate, unfused path, for inspection.
  virtual std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) = 0;
};

std::shared_ptr<Attention> make_attention(const AttentionOptions& options);

/// G and K.
int64_t key_heads(const AttentionOptions& options);
int64_t head_dim(const AttentionOptions& options);

/// Config values of `attention.type`.
const config::Choices<AttentionType>& attention_types();

}  // namespace weft::nn
