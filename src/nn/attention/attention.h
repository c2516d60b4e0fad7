#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/section.h"
#include "kernels/attention/rotary.h"
#include "nn/chosen_rows.h"
#include "nn/module.h"
#include "nn/pass.h"

namespace weft::nn {

enum class AttentionType { kFull, kWindow };

struct AttentionOptions {
  AttentionType type = AttentionType::kFull;
  int64_t dim = 0;         // D
  int64_t heads = 0;       // H, divides D
  int64_t window = 0;      // kWindow: a token sees half as many on each side; causal: itself and
                           // window - 1 before it
  int64_t layer = 0;       // which block this is part of; numbers its chance
  bool is_causal = false;  // a token sees itself and those before it
  bool has_bias = true;    // of the projections
  double theta = 0;        // of rotary positions (arXiv:2104.09864); 0: none
  kernels::RotaryOptions stretched = {};     // factor and so on of those; width 0: whole heads
  int64_t key_heads = 0;                     // G (arXiv:2305.13245); 0: H
  int64_t head_width = 0;                    // K; 0: D / H
  int64_t memory_dim = 0;                    // cross attention: width of the encoder's states; 0: D
  double scale = 0;                          // of the scores; 0: 1 / sqrt(K)
  std::optional<bool> has_output_bias = {};  // of the last projection; nothing: as has_bias
  bool has_distances = false;                // Pass::distance_bias is added to the scores
  double dropout = 0.1;                      // on the attention weights
};

/// Mixes the tokens of each sequence, output projection included. Norm, residual and the dropout of
/// the output belong to the block.
class Attention : public Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x, const Pass& pass) = 0;  // (N, D) -> (N, D)
  /// Of `forward` some rows: (N, D) -> (M, D).
  virtual at::Tensor rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen) = 0;

  /// The weights with which `forward` of the same input mixes the tokens, without dropout: for each
  /// sequence (H, L, L) in fp32, rows are queries. A second, plain path, for looking at them.
  virtual std::vector<at::Tensor> weights(const at::Tensor& x, const Pass& pass) = 0;
};

std::shared_ptr<Attention> make_attention(const AttentionOptions& options);

/// G and K of the options.
int64_t key_heads(const AttentionOptions& options);
int64_t head_width(const AttentionOptions& options);

/// Words of `attention.type`.
const config::Choices<AttentionType>& attention_types();

}  // namespace weft::nn
