#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/layout.h"
#include "nn/attention/scores/score_functions.h"
#include "nn/forward_context.h"
#include "nn/linear.h"
#include "nn/recurrent/local_window.h"

namespace weft::nn {

/// Whether a decoder knows how much it has attended to each source token (arXiv:1601.04811):
/// `kSum`, the sum of the attention weights so far; `kFertility`, divided by the predicted number
/// of target tokens that the source token explains (section 3.1).
enum class Coverage { kNone, kSum, kFertility };

struct EncoderAttentionOptions {
  int64_t query_width = 0;
  int64_t value_width = 0;  // C, of the encoder states
  ScoreMaker make_score = {};
  Coverage coverage = Coverage::kNone;  // needs the additive score
  LocalWindowMaker make_window = {};    // empty: all tokens of the source
};

/// For each place of a padded batch, (B L), the row of the packed one: after the end of a sequence
/// that of its last token.
std::vector<int64_t> padded_rows(const kernels::Layout& layout);

/// The source texts of a batch as a decoder attends to them, step by step. Padded, because each
/// step needs all of them.
struct AttentionSource {
  at::Tensor values;     // (B, S, C)
  at::Tensor keys;       // (B, S, K), prepared for the score function
  at::Tensor is_hidden;  // (B, S), padding
  at::Tensor lengths;    // (B) int64
  at::Tensor fertility;  // (B, S) fp32; undefined without it

  /// These rows, or the first ones.
  AttentionSource select(const at::Tensor& rows) const;
  AttentionSource first(int64_t count) const;
};

/// What L tokens of each target attend with.
struct AttentionQueries {
  at::Tensor states;     // (B, L, Q)
  at::Tensor positions;  // (B, L) int64, of the tokens in their targets
};

/// Attention of a recurrent decoder to the states of its encoder (arXiv:1409.0473, section 3.1).
class EncoderAttention : public torch::nn::Module {
 public:
  explicit EncoderAttention(const EncoderAttentionOptions& options);

  /// states (M, C), packed by `layout`.
  AttentionSource read(const at::Tensor& states, const kernels::Layout& layout);

  struct Result {
    at::Tensor context;   // (B, L, C)
    at::Tensor weights;   // (B, L, S) fp32
    at::Tensor coverage;  // (B, S) fp32, after this step; undefined without coverage
  };
  /// coverage of the step before (B, S), or undefined; with coverage L is 1.
  Result attend(const AttentionQueries& queries,
                const AttentionSource& source,
                const at::Tensor& coverage,
                const ForwardContext& context);

  /// The coverage before the first step; undefined without coverage.
  at::Tensor no_coverage(const AttentionSource& source) const;

 private:
  Coverage coverage_;
  std::shared_ptr<ScoreFunction> score_;
  std::shared_ptr<LocalWindow> window_;  // null: all tokens
  at::Tensor coverage_vector_;           // (A), added to the keys per unit of coverage
  Linear fertility_{nullptr};            // C -> 1
};

}  // namespace weft::nn
