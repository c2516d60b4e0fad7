#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include "kernels/embedding.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "nn/embedding/token_embedding.h"
#include "nn/frequency_clusters.h"

namespace weft::nn {

namespace {

/// A matrix that stays as it is for inference, so that an output layer can use it, too.
class MatrixImpl : public torch::nn::Module {
 public:
  MatrixImpl(int64_t rows, int64_t columns)
      : weight_(register_parameter("weight", at::empty({rows, columns}))) {}
  const at::Tensor& weight() const { return weight_; }

 private:
  at::Tensor weight_;
};
TORCH_MODULE(Matrix);

/// Cluster k of the tokens has vectors of D / factor^k dimensions, which a matrix of its own maps
/// to D.
class AdaptiveEmbedding : public TokenEmbedding {
 public:
  AdaptiveEmbedding(const TokenEmbeddingOptions& options, const FrequencyClusters& frequency);

  const TokenClusters* clusters() const override { return &clusters_; }
  InitialSpread initial_spread(const std::string& parameter,
                               const at::Tensor& value) const override;
  bool needs_counts() const override { return clusters_.words.size() > 1; }
  void fit(const TokenStatistics& statistics) override;
  void finish_loading() override;
  at::Tensor forward(const at::Tensor& ids) override;

 private:
  int64_t vocabulary_;
  TokenClusters clusters_;
  at::Tensor tokens_;  // (V), by falling frequency
};

AdaptiveEmbedding::AdaptiveEmbedding(const TokenEmbeddingOptions& options,
                                     const FrequencyClusters& frequency)
    : vocabulary_(options.vocabulary) {
  clusters_.bounds = frequency.bounds(options.vocabulary, "model.embedding");
  int64_t first = 0;
  for (const auto end : clusters_.bounds) {
    const auto index = clusters_.words.size();
    const auto width = frequency.width(options.dim, index);
    clusters_.words.push_back(
        register_parameter(numbered("words", index), at::empty({end - first, width})));
    clusters_.projections.push_back(
        register_module(numbered("projection", index), Matrix(options.dim, width))->weight());
    first = end;
  }
  tokens_ = register_buffer("tokens", at::arange(vocabulary_));
  finish_loading();
}

/// Vectors begin with the spread of a table.
InitialSpread AdaptiveEmbedding::initial_spread(const std::string& parameter,
                                                const at::Tensor& value) const {
  if (parameter.starts_with("words")) {
    return {.kind = InitialSpread::Kind::kTable};
  }
  return {.kind = InitialSpread::Kind::kNormal,
          .value = 1 / std::sqrt(static_cast<double>(value.size(1)))};
}

void AdaptiveEmbedding::fit(const TokenStatistics& statistics) {
  if (needs_counts()) {
    tokens_.copy_(kernels::to_device(by_frequency(statistics.counts), at::kCPU));
    finish_loading();
  }
}

void AdaptiveEmbedding::finish_loading() {
  clusters_.ranks = ranks_of(tokens_, vocabulary_, "the token order of the adaptive embedding");
}

at::Tensor AdaptiveEmbedding::forward(const at::Tensor& ids) {
  const auto on_host = ids.cpu().contiguous();
  const auto* tokens = on_host.const_data_ptr<int64_t>();
  const auto& bounds = clusters_.bounds;
  std::vector<std::vector<int64_t>> rows(bounds.size());  // of each cluster
  std::vector<std::pair<std::size_t, int64_t>> places;    // cluster of each token, and place in it
  places.reserve(static_cast<std::size_t>(on_host.numel()));
  for (int64_t i = 0; i < on_host.numel(); ++i) {
    const auto rank = clusters_.ranks[static_cast<std::size_t>(tokens[i])];
    const auto cluster =
        static_cast<std::size_t>(std::ranges::upper_bound(bounds, rank) - bounds.begin());
    places.emplace_back(cluster, static_cast<int64_t>(rows[cluster].size()));
    rows[cluster].push_back(rank - (cluster == 0 ? 0 : bounds[cluster - 1]));
  }
  std::vector<at::Tensor> vectors;
  std::vector<int64_t> begins;  // of the clusters among all vectors
  int64_t begin = 0;
  for (std::size_t cluster = 0; cluster < rows.size(); ++cluster) {
    begins.push_back(begin);
    begin += static_cast<int64_t>(rows[cluster].size());
    const auto own = kernels::embedding_sum(
        clusters_.words[cluster], kernels::to_device(rows[cluster], ids.device()), {}, {}, {}, {});
    vectors.push_back(kernels::linear(own, clusters_.projections[cluster], {}));
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
  return [frequency = read_frequency_clusters(section)](const TokenEmbeddingOptions& options) {
    return std::make_shared<AdaptiveEmbedding>(options, frequency);
  };
}

}  // namespace weft::nn
