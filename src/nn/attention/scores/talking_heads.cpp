#include <ATen/ATen.h>

#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"
#include "nn/initial_values.h"

namespace weft::nn {

namespace {

/// Which of the two projections across heads there are.
enum class TalkingPart { kBoth, kScores, kWeights };

/// Projects the scores of all heads before the softmax, and the weights after it, across the heads
/// (arXiv:2003.02436, section 4). Both matrices (H, H) start as the identity; rows are the heads
/// that are read.
class TalkingHeads : public ScoreModifier, public InitialValues {
 public:
  TalkingHeads(int64_t heads, TalkingPart part) {
    if (part != TalkingPart::kWeights) {
      before_ = register_parameter("scores", at::empty({heads, heads}));
    }
    if (part != TalkingPart::kScores) {
      after_ = register_parameter("weights", at::empty({heads, heads}));
    }
  }

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& /*tile*/) override {
    return mixed(scores, before_);
  }
  at::Tensor weights(const at::Tensor& weights, const AttentionTile& /*tile*/) override {
    return mixed(weights, after_);
  }
  void initialize(const std::string& /*name*/, at::Tensor parameter) const override {
    parameter.copy_(at::eye(parameter.size(0)));
  }

 private:
  /// (G, H, L, S): head j of the result is the sum over i of matrix[i][j] x[:, i].
  static at::Tensor mixed(const at::Tensor& x, const at::Tensor& matrix) {
    if (!matrix.defined()) {
      return x;
    }
    const auto heads = x.size(1);
    const auto by_query = x.transpose(1, 2);  // (G, L, H, S)
    const auto rows = by_query.reshape({-1, heads, x.size(3)});
    const auto own = matrix.t().to(x.scalar_type()).flatten();
    const auto matrices = kernels::repeat_row(own, rows.size(0)).view({-1, heads, heads});
    return kernels::batched_product(matrices, rows).view(by_query.sizes()).transpose(1, 2);
  }

  at::Tensor before_;
  at::Tensor after_;
};

}  // namespace

AttentionMaker read_talking_heads_attention(config::Section& section) {
  auto part = TalkingPart::kBoth;
  section.read_choice("project", part,
                      {{"both", TalkingPart::kBoth},
                       {"scores", TalkingPart::kScores},
                       {"weights", TalkingPart::kWeights}},
                      {.help = "What is projected across the heads: the scores before the softmax, "
                               "the weights after it, or both."});
  return [part](const AttentionOptions& options) {
    auto parts = dense_parts(options);
    parts.modifiers.push_back(
        {"talking_heads", std::make_shared<TalkingHeads>(options.heads, part)});
    return attention_with_core(options, std::make_shared<DenseCore>(options, parts));
  };
}

}  // namespace weft::nn
