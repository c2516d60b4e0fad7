#include <ATen/ATen.h>

#include "base/error.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

namespace {

/// Adds the scores of the layer before, which contain those of the layers before it
/// (arXiv:2012.11747, section 3).
class ResidualScores : public ScoreModifier {
 public:
  explicit ResidualScores(bool is_detached) : is_detached_(is_detached) {}

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override {
    const auto& context = tile.context;
    if (context.score_chain == nullptr) {  // a layer on its own
      return scores;
    }
    if (context.recomputes_layers) {
      throw UserError(
          "model.attention: type realformer needs the scores of the layer before, which "
          "train.gradient_checkpointing: layers does not keep");
    }
    auto& before = context.score_chain->scores(tile.span);
    auto sum = before.defined() ? scores + before : scores;
    before = is_detached_ ? sum.detach() : sum;
    return sum;
  }

 private:
  bool is_detached_;
};

}  // namespace

AttentionMaker read_realformer_attention(config::Section& section) {
  bool is_detached = false;
  section.read("detach", is_detached,
               {.help = "No gradient flows through the scores of the layers before."});
  return [is_detached](const AttentionOptions& options) {
    auto parts = dense_parts(options);
    parts.modifiers.push_back({"residual", std::make_shared<ResidualScores>(is_detached)});
    return attention_with_core(options, std::make_shared<DenseCore>(options, parts));
  };
}

}  // namespace weft::nn
