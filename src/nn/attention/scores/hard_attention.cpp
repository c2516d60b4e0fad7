#include <vector>

#include <ATen/ATen.h>

#include "base/random.h"
#include "kernels/softmax.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"
#include "nn/auxiliary_losses.h"

namespace weft::nn {

namespace {

/// One key for each query and head, drawn from the attention weights in training; otherwise that
/// with the largest weight (arXiv:1502.03044, section 4.1). The draw has no gradient: the
/// log-probabilities of all draws of a sequence become an auxiliary loss, which the loss of the
/// sequence scales. A second one is the entropy of the weights, a bonus.
class DrawnKeys : public ScoreModifier {
 public:
  DrawnKeys(int64_t layer, double entropy_weight)
      : layer_(layer), entropy_weight_(entropy_weight) {}

  at::Tensor weights(const at::Tensor& weights, const AttentionTile& tile) override {
    const auto& context = tile.context;
    const auto keys = context.is_training ? drawn(weights, tile) : weights.argmax(3, true);
    if (context.is_training && context.auxiliary_losses != nullptr) {
      add_losses(weights, keys, tile);
    }
    return at::zeros_like(weights).scatter(3, keys, 1.0);
  }

 private:
  /// (G, H, L, 1). The numbers are those of the sequence, in whatever batch it is.
  at::Tensor drawn(const at::Tensor& weights, const AttentionTile& tile) const {
    const auto& context = tile.context;
    const auto count = weights.size(1) * weights.size(2);
    const auto seed = hash_combine(context.seed, static_cast<uint64_t>(context.depth(layer_)));
    std::vector<double> uniform;
    uniform.reserve(static_cast<std::size_t>(weights.size(0) * count));
    for (const auto sequence : tile.sequences) {
      Random random(seed, RandomPurpose::kSample, context.step,
                    static_cast<uint64_t>(context.first_sequence + sequence));
      for (int64_t i = 0; i < count; ++i) {
        uniform.push_back(random.uniform_double());
      }
    }
    const auto sizes = weights.sizes();
    return kernels::sample_probabilities(weights.flatten(0, 2), at::tensor(uniform, at::kDouble))
        .view({sizes[0], sizes[1], sizes[2], 1});
  }

  void add_losses(const at::Tensor& weights,
                  const at::Tensor& keys,
                  const AttentionTile& tile) const {
    constexpr double kLeast = 1e-30;
    const auto logarithms = weights.clamp_min(kLeast).log();
    const auto of_sequences = logarithms.gather(3, keys).sum({1, 2, 3});  // (G)
    const std::vector<int64_t> sequences(tile.sequences.begin(), tile.sequences.end());
    auto& losses = *tile.context.auxiliary_losses;
    losses.add(
        {.name = "draws",
         .sum = at::zeros({tile.context.layout.sequences()}, of_sequences.options())
                    .index_copy(0, kernels::to_device(sequences, weights.device()), of_sequences),
         .is_log_probability = true});
    const auto entropy =
        kernels::deterministic_sum(-weights * logarithms) / static_cast<double>(weights.size(1));
    losses.add({.name = "attention_entropy", .sum = entropy, .weight = -entropy_weight_});
  }

  int64_t layer_;
  double entropy_weight_;
};

}  // namespace

AttentionMaker read_hard_attention(config::Section& section) {
  double entropy_weight = 0.01;
  section.read(
      "entropy_weight", entropy_weight,
      {.help = "Weight of the entropy of the attention weights, per token and layer, which "
               "training makes larger: more keys are tried.",
       .range = config::between(0, 1000)});
  return [entropy_weight](const AttentionOptions& options) {
    auto parts = dense_parts(options);
    parts.modifiers.push_back(
        {"drawn_keys", std::make_shared<DrawnKeys>(options.layer, entropy_weight)});
    return attention_with_core(options, std::make_shared<DenseCore>(options, parts));
  };
}

}  // namespace weft::nn
