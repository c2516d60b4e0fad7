#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "nn/frequency_clusters.h"
#include "nn/linear.h"
#include "nn/output/output_layer.h"

namespace weft::nn {

namespace {

/// Tokens by frequency in clusters: the most frequent ones in the head, which also has an entry
/// for each other cluster, whose features are projected to fewer dimensions. In the form of
/// torch::nn::AdaptiveLogSoftmaxWithLoss.
class AdaptiveOutput : public OutputLayer {
 public:
  AdaptiveOutput(const OutputOptions& options, const FrequencyClusters& own);

  at::Tensor logits(const TokenStates& input, const OutputMatrix& /*matrix*/) override;
  at::Tensor loss(const TokenStates& input,
                  const at::Tensor& targets,
                  const OutputMatrix& /*matrix*/,
                  const ForwardContext& /*context*/) override;
  bool needs_statistics() const override { return clusters() > 0; }
  void fit(const TokenStatistics& statistics) override {
    tokens_.copy_(kernels::to_device(by_frequency(statistics.counts), at::kCPU));
    finish_loading();
  }
  void finish_loading() override;

 private:
  int64_t clusters() const { return static_cast<int64_t>(bounds_.size()) - 1; }
  int64_t shortlist() const { return bounds_.front(); }

  int64_t vocabulary_;
  std::vector<int64_t> bounds_;  // first ranks of the clusters after the head, and V
  Linear head_{nullptr};         // E -> shortlist + clusters
  std::vector<Linear> down_;     // E -> E / factor^k
  std::vector<Linear> up_;       // -> tokens of the cluster
  at::Tensor tokens_;            // (V), by falling frequency
  std::vector<int64_t> ranks_;   // V, of each token
};

AdaptiveOutput::AdaptiveOutput(const OutputOptions& options, const FrequencyClusters& own)
    : vocabulary_(options.vocabulary), bounds_(own.bounds(options.vocabulary, "model.output")) {
  head_ = register_module(
      "head", Linear(LinearOptions{options.width, shortlist() + clusters(), /*has_bias=*/false}));
  auto width = static_cast<double>(options.width);
  for (int64_t i = 0; i < clusters(); ++i) {
    width /= own.factor;
    const auto inner = std::max<int64_t>(1, static_cast<int64_t>(width));
    const auto size =
        bounds_[static_cast<std::size_t>(i) + 1] - bounds_[static_cast<std::size_t>(i)];
    down_.emplace_back(register_module(str_cat("down_", i + 1),
                                       Linear(LinearOptions{options.width, inner, false})));
    up_.emplace_back(
        register_module(str_cat("up_", i + 1), Linear(LinearOptions{inner, size, false})));
  }
  tokens_ = register_buffer("tokens", at::arange(vocabulary_));
  finish_loading();
}

void AdaptiveOutput::finish_loading() {
  ranks_ = ranks_of(tokens_, vocabulary_, "the token order of the adaptive softmax");
}

at::Tensor AdaptiveOutput::logits(const TokenStates& input, const OutputMatrix& /*matrix*/) {
  const auto& features = input.states;
  const auto head = at::log_softmax(head_->forward(features), 1, at::kFloat);
  std::vector<at::Tensor> parts = {head.narrow(1, 0, shortlist())};
  for (int64_t i = 0; i < clusters(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    parts.push_back(at::log_softmax(up_[at]->forward(down_[at]->forward(features)), 1, at::kFloat) +
                    head.narrow(1, shortlist() + i, 1));
  }
  return at::cat(parts, 1).index_select(1, kernels::to_device(ranks_, features.device()));
}

at::Tensor AdaptiveOutput::loss(const TokenStates& input,
                                const at::Tensor& targets,
                                const OutputMatrix& /*matrix*/,
                                const ForwardContext& /*context*/) {
  const auto& features = input.states;
  const auto ids = targets.cpu();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  std::vector<int64_t> heads;
  std::vector<std::vector<int64_t>> rows(down_.size());  // of each cluster
  std::vector<std::vector<int64_t>> places(down_.size());
  for (int64_t row = 0; row < ids.numel(); ++row) {
    const auto rank = ranks_[static_cast<std::size_t>(tokens[row])];
    if (rank < shortlist()) {
      heads.push_back(rank);
      continue;
    }
    const auto cluster = std::ranges::upper_bound(bounds_, rank) - bounds_.begin() - 1;
    const auto at = static_cast<std::size_t>(cluster);
    heads.push_back(shortlist() + cluster);
    rows[at].push_back(row);
    places[at].push_back(rank - bounds_[at]);
  }
  const auto device = features.device();
  auto sum = kernels::linear_cross_entropy(features, head_->weight(), {},
                                           kernels::to_device(heads, device));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].empty()) {
      const auto own = features.index_select(0, kernels::to_device(rows[i], device));
      sum = sum + kernels::linear_cross_entropy(down_[i]->forward(own), up_[i]->weight(), {},
                                                kernels::to_device(places[i], device));
    }
  }
  return sum;
}

}  // namespace

OutputMaker read_adaptive_output(config::Section& section) {
  return [own = read_frequency_clusters(section)](const OutputOptions& options) {
    return std::make_shared<AdaptiveOutput>(options, own);
  };
}

}  // namespace weft::nn
