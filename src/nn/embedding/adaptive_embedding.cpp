#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "kernels/embedding.h"
#include "kernels/to_device.h"
#include "nn/embedding/token_embedding.h"
#include "nn/frequency_clusters.h"
#include "nn/linear.h"

namespace weft::nn {

namespace {

/// Cluster k of the tokens has vectors of D / factor^k dimensions, which a matrix of its own maps
/// to D.
class AdaptiveEmbedding : public TokenEmbedding {
 public:
  AdaptiveEmbedding(const TokenEmbeddingOptions& options, const FrequencyClusters& clusters);

  bool needs_counts() const override { return words_.size() > 1; }
  void fit(const TokenStatistics& statistics) override;
  void finish_loading() override;
  at::Tensor forward(const at::Tensor& ids) override;

 private:
  int64_t vocabulary_;
  std::vector<int64_t> bounds_;      // first ranks of the clusters after the first, and V
  std::vector<at::Tensor> words_;    // (tokens of the cluster, D / factor^k)
  std::vector<Linear> projections_;  // D / factor^k -> D
  at::Tensor tokens_;                // (V), by falling frequency
  std::vector<int64_t> ranks_;       // V, of each token
};

AdaptiveEmbedding::AdaptiveEmbedding(const TokenEmbeddingOptions& options,
                                     const FrequencyClusters& clusters)
    : vocabulary_(options.vocabulary),
      bounds_(clusters.bounds(options.vocabulary, "model.embedding")) {
  auto width = static_cast<double>(options.dim);
  int64_t first = 0;
  for (const auto end : bounds_) {
    const auto inner = std::max<int64_t>(1, static_cast<int64_t>(width));
    const auto index = words_.size();
    words_.push_back(register_parameter(numbered("words", index), at::empty({end - first, inner})));
    projections_.push_back(register_module(numbered("projection", index),
                                           Linear(LinearOptions{inner, options.dim, false})));
    first = end;
    width /= clusters.factor;
  }
  tokens_ = register_buffer("tokens", at::arange(vocabulary_));
  finish_loading();
}

void AdaptiveEmbedding::fit(const TokenStatistics& statistics) {
  if (needs_counts()) {
    tokens_.copy_(kernels::to_device(by_frequency(statistics.counts), at::kCPU));
    finish_loading();
  }
}

void AdaptiveEmbedding::finish_loading() {
  ranks_ = ranks_of(tokens_, vocabulary_, "the token order of the adaptive embedding");
}

at::Tensor AdaptiveEmbedding::forward(const at::Tensor& ids) {
  const auto on_host = ids.cpu().contiguous();
  const auto* tokens = on_host.const_data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> rows(words_.size());  // of each cluster
  std::vector<std::pair<std::size_t, int64_t>> places;    // cluster of each token, and place in it
  places.reserve(static_cast<std::size_t>(on_host.numel()));
  for (int64_t i = 0; i < on_host.numel(); ++i) {
    const auto rank = ranks_[static_cast<std::size_t>(tokens[i])];
    const auto cluster =
        static_cast<std::size_t>(std::ranges::upper_bound(bounds_, rank) - bounds_.begin());
    places.emplace_back(cluster, static_cast<int64_t>(rows[cluster].size()));
    rows[cluster].push_back(rank - (cluster == 0 ? 0 : bounds_[cluster - 1]));
  }
  std::vector<at::Tensor> vectors;
  std::vector<int64_t> begins;  // of the clusters among all vectors
  int64_t begin = 0;
  for (std::size_t cluster = 0; cluster < rows.size(); ++cluster) {
    begins.push_back(begin);
    begin += static_cast<int64_t>(rows[cluster].size());
    vectors.push_back(projections_[cluster]->forward(kernels::embedding_sum(
        words_[cluster], kernels::to_device(rows[cluster], ids.device()), {}, {}, {}, {})));
  }
  std::vector<int64_t> order;
  order.reserve(places.size());
  for (const auto& [cluster, place] : places) {
    order.push_back(begins[cluster] + place);
  }
  return at::cat(vectors).index_select(0, kernels::to_device(order, ids.device()));
}

}  // namespace

TokenEmbeddingMaker read_adaptive_embedding(config::Section& section) {
  return [clusters = read_frequency_clusters(section)](const TokenEmbeddingOptions& options) {
    return std::make_shared<AdaptiveEmbedding>(options, clusters);
  };
}

}  // namespace weft::nn
