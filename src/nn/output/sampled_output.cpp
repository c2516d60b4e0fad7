#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "base/random.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "nn/output/output_layer.h"

namespace weft::nn {

namespace {

enum class SampledLoss { kImportance, kNce };
const config::Choices<SampledLoss> kSampledLosses = {{"importance", SampledLoss::kImportance},
                                                     {"nce", SampledLoss::kNce}};

struct SampledOptions {
  SampledLoss loss = SampledLoss::kImportance;
  int64_t samples = 512;
  double power = 1;
};

/// The usual output matrix; in training, a target is compared with a sample of noise tokens only,
/// the same for all targets of a step: k draws with probability q in proportion to
/// (count + 1)^power.
///
///   importance (arXiv:1412.2007): cross-entropy over the target and the different tokens that
///       were drawn, of scores s - ln(1 - (1 - q)^k), which is the probability to be drawn at all.
///       A drawn token that equals the target is left out.
///   nce (arXiv:1206.6426, equation 8): is a token the target or noise, of scores
///       s - ln V - ln(k q). The scores thus start normalised.
class SampledOutput : public OutputLayer {
 public:
  SampledOutput(const OutputOptions& options, const SampledOptions& own)
      : vocabulary_(options.vocabulary), own_(own) {
    log_noise_ = register_buffer("log_noise", at::empty({vocabulary_}, at::kFloat));
    fit({.counts = std::vector<int64_t>(static_cast<std::size_t>(vocabulary_), 0)});
  }

  at::Tensor logits(const TokenStates& input, const OutputMatrix& matrix) override {
    return kernels::linear(input.states, matrix.weight, matrix.bias);
  }
  at::Tensor loss(const TokenStates& input,
                  const at::Tensor& targets,
                  const OutputMatrix& matrix,
                  const ForwardContext& context) override;
  bool needs_statistics() const override { return true; }
  void fit(const TokenStatistics& statistics) override;
  void finish_loading() override;

 private:
  std::vector<int64_t> samples(const ForwardContext& context) const;

  int64_t vocabulary_;
  SampledOptions own_;
  at::Tensor log_noise_;            // (V): ln q
  std::vector<double> cumulative_;  // V: of q
  at::Tensor correction_;           // (V), subtracted from the scores
};

void SampledOutput::fit(const TokenStatistics& statistics) {
  std::vector<double> weights;
  weights.reserve(statistics.counts.size());
  for (const auto count : statistics.counts) {
    weights.push_back(std::pow(static_cast<double>(count) + 1, own_.power));
  }
  const auto total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (auto& weight : weights) {
    weight = std::log(weight / total);
  }
  log_noise_.copy_(kernels::to_device(weights, at::kCPU));
  finish_loading();
}

void SampledOutput::finish_loading() {
  const auto stored = log_noise_.cpu();
  const auto* values = stored.const_data_ptr<float>();
  cumulative_.resize(static_cast<std::size_t>(vocabulary_));
  double sum = 0;
  for (std::size_t id = 0; id < cumulative_.size(); ++id) {
    sum += std::exp(static_cast<double>(values[id]));
    cumulative_[id] = sum;
  }
  constexpr double kRounding = 1e-2;
  if (!(std::abs(sum - 1) < kRounding)) {
    throw UserError(
        "model.safetensors: the noise probabilities of the sampled softmax do not add up to 1");
  }
  const auto noise = stored.to(at::kDouble);
  const auto draws = static_cast<double>(own_.samples);
  const auto drawn = own_.loss == SampledLoss::kImportance
                         ? (-at::expm1(draws * at::log1p(-noise.exp()))).log()
                         : noise + std::log(draws);
  correction_ = drawn.to(at::kFloat);
}

std::vector<int64_t> SampledOutput::samples(const ForwardContext& context) const {
  Random random(context.seed, RandomPurpose::kNoise, context.step, 0);
  std::vector<int64_t> result(static_cast<std::size_t>(own_.samples));
  for (auto& token : result) {
    const auto place =
        std::ranges::upper_bound(cumulative_, random.uniform_double() * cumulative_.back());
    token = std::min(place - cumulative_.begin(), vocabulary_ - 1);
  }
  if (own_.loss == SampledLoss::kImportance) {
    std::ranges::sort(result);
    const auto repeated = std::ranges::unique(result);
    result.erase(repeated.begin(), repeated.end());
  }
  return result;
}

at::Tensor SampledOutput::loss(const TokenStates& input,
                               const at::Tensor& targets,
                               const OutputMatrix& matrix,
                               const ForwardContext& context) {
  const auto& features = input.states;
  const auto noise = kernels::to_device(samples(context), features.device());  // (k)
  const auto bias_of = [&](const at::Tensor& ids) {
    return matrix.bias.defined() ? matrix.bias.index_select(0, ids) : at::Tensor();
  };
  const auto correction = kernels::to_device(correction_, features.device());
  auto target_scores = (features * matrix.weight.index_select(0, targets))
                           .sum(1, /*keepdim=*/true, at::kFloat);  // (M, 1)
  if (matrix.bias.defined()) {
    target_scores = target_scores + bias_of(targets).unsqueeze(1);
  }
  target_scores = target_scores - correction.index_select(0, targets).unsqueeze(1);
  auto noise_scores =
      kernels::linear(features, matrix.weight.index_select(0, noise), bias_of(noise))
          .to(at::kFloat) -
      correction.index_select(0, noise);  // (M, k)
  if (own_.loss == SampledLoss::kNce) {
    const auto shift = std::log(static_cast<double>(vocabulary_));
    return -(at::log_sigmoid(target_scores - shift).sum() +
             at::log_sigmoid(shift - noise_scores).sum());
  }
  const auto hits = at::eq(targets.unsqueeze(1), noise);
  noise_scores = noise_scores.masked_fill(hits, -std::numeric_limits<float>::infinity());
  return (at::cat({target_scores, noise_scores}, 1).logsumexp(1) - target_scores.squeeze(1)).sum();
}

}  // namespace

OutputMaker read_sampled_output(config::Section& section) {
  SampledOptions own;
  section.read_choice("loss", own.loss, kSampledLosses,
                      {.help = "importance: sampled softmax (importance sampling). nce: noise "
                               "contrastive estimation. Evaluation always uses the full softmax."});
  section.read("samples", own.samples,
               {.help = "Number of noise tokens per step.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  section.read("noise_power", own.power,
               {.help = "Exponent of the token counts in the noise distribution. 1: as frequent as "
                        "in the training data. 0: uniform.",
                .range = config::between(0, 1)});
  return
      [own](const OutputOptions& options) { return std::make_shared<SampledOutput>(options, own); };
}

}  // namespace weft::nn
