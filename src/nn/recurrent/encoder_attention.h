#pragma once

#include <cstdint>
#include <vector>

#include "kernels/layout.h"
#include "nn/attention/scores/score_functions.h"
#include "nn/forward_context.h"
#include "nn/linear.h"
#include "nn/recurrent/coverage.h"

namespace weft::nn {

struct EncoderAttentionOptions {
  int64_t query_width = 0;
  int64_t value_width = 0;  // C, of the encoder states
  ScoreMaker make_score = {};
  Coverage coverage = Coverage::kNone;  // needs the additive score
};

/// The source texts of a batch as a decoder attends to them, step by step. Padded, because each
/// step needs all of them.
struct AttentionSource {
  at::Tensor values;     // (B, S, C)
  at::Tensor keys;       // (B, S, K), prepared for the score function
  at::Tensor is_hidden;  // (B, S), padding
  at::Tensor fertility;  // (B, S) fp32; undefined without it

  /// These rows, or the first ones.
  AttentionSource select(const at::Tensor& rows) const;
  AttentionSource first(int64_t count) const;
};

/// Attention of a recurrent decoder to the states of its encoder (arXiv:1409.0473, section 3.1).
class EncoderAttention : public torch::nn::Module {
 public:
  explicit EncoderAttention(const EncoderAttentionOptions& options);

  /// states (M, C), packed by `layout`.
  AttentionSource read(const at::Tensor& states, const kernels::Layout& layout);

  struct Result {
    at::Tensor context;   // (B, C)
    at::Tensor weights;   // (B, S) fp32
    at::Tensor coverage;  // (B, S) fp32, after this step; undefined without coverage
  };
  /// query (B, Q), one for each source; coverage of the step before (B, S), or undefined.
  Result attend(const at::Tensor& query,
                const AttentionSource& source,
                const at::Tensor& coverage,
                const ForwardContext& context);

  /// The coverage before the first step; undefined without coverage.
  at::Tensor no_coverage(const AttentionSource& source) const;

 private:
  Coverage coverage_;
  std::shared_ptr<ScoreFunction> score_;
  at::Tensor coverage_vector_;  // (A), added to the keys per unit of coverage
  Linear fertility_{nullptr};   // C -> 1
};

}  // namespace weft::nn
