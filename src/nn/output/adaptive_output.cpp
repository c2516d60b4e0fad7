#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "nn/embedding/token_embedding.h"
#include "nn/frequency_clusters.h"
#include "nn/linear.h"
#include "nn/output/output_layer.h"

namespace weft::nn {

namespace {

struct AdaptiveOutputOptions {
  FrequencyClusters frequency = {};
  bool ties_projections = false;
};

/// Tokens by frequency in clusters: the most frequent ones in the head, which also has an entry
/// for each other cluster, whose features are projected to fewer dimensions. In the form of
/// torch::nn::AdaptiveLogSoftmaxWithLoss.
///
/// Tied (arXiv:1809.10853, section 3.2, as in fairseq): the rows of the tokens are those of the
/// word embeddings, and so is their order; with `ties_projections` also the projections of the
/// clusters after the head, transposed.
class AdaptiveOutput : public OutputLayer {
 public:
  AdaptiveOutput(const OutputOptions& options, const AdaptiveOutputOptions& own);

  at::Tensor logits(const TokenStates& input, const OutputMatrix& /*matrix*/) override;
  at::Tensor loss(const TokenStates& input,
                  const at::Tensor& targets,
                  const OutputMatrix& /*matrix*/,
                  const ForwardContext& /*context*/) override;
  bool needs_statistics() const override { return tied_ == nullptr && clusters() > 0; }
  void fit(const TokenStatistics& statistics) override {
    tokens_.copy_(kernels::to_device(by_frequency(statistics.counts), at::kCPU));
    finish_loading();
  }
  void finish_loading() override;

 private:
  void register_own(const OutputOptions& options, const FrequencyClusters& frequency);
  void register_tied(const OutputOptions& options, const AdaptiveOutputOptions& own);

  std::size_t clusters() const { return bounds_.size() - 1; }
  int64_t shortlist() const { return bounds_.front(); }
  const std::vector<int64_t>& ranks() const { return tied_ ? tied_->clusters()->ranks : ranks_; }

  at::Tensor head_weight() const;
  /// Features of a cluster after the head: (M, E) -> (M, E / factor^k).
  at::Tensor projected(const at::Tensor& features, std::size_t cluster);
  /// (M, tokens of the cluster), from these.
  at::Tensor scores(const at::Tensor& projected, std::size_t cluster);
  at::Tensor cluster_weight(std::size_t cluster) const;

  int64_t vocabulary_;
  std::vector<int64_t> bounds_;                 // first ranks of the clusters after the head, and V
  Linear head_{nullptr};                        // E -> shortlist + clusters; null if tied
  at::Tensor cluster_rows_;                     // (clusters, E), of the head if tied
  std::vector<Linear> down_;                    // E -> E / factor^k; empty with tied projections
  std::vector<Linear> up_;                      // -> tokens of the cluster; empty if tied
  at::Tensor tokens_;                           // (V), by falling frequency; undefined if tied
  std::vector<int64_t> ranks_;                  // V, of each token; empty if tied
  std::shared_ptr<const TokenEmbedding> tied_;  // null: not tied
};

AdaptiveOutput::AdaptiveOutput(const OutputOptions& options, const AdaptiveOutputOptions& own)
    : vocabulary_(options.vocabulary),
      bounds_(own.frequency.bounds(options.vocabulary, "model.output")),
      tied_(options.tied) {
  if (tied_ != nullptr) {
    register_tied(options, own);
  } else {
    register_own(options, own.frequency);
  }
}

void AdaptiveOutput::register_own(const OutputOptions& options,
                                  const FrequencyClusters& frequency) {
  const auto count = static_cast<int64_t>(clusters());
  head_ = register_module(
      "head", Linear(LinearOptions{options.width, shortlist() + count, /*has_bias=*/false}));
  for (std::size_t i = 0; i < clusters(); ++i) {
    const auto inner = frequency.width(options.width, i + 1);
    down_.emplace_back(register_module(str_cat("down_", i + 1),
                                       Linear(LinearOptions{options.width, inner, false})));
    up_.emplace_back(register_module(
        str_cat("up_", i + 1), Linear(LinearOptions{inner, bounds_[i + 1] - bounds_[i], false})));
  }
  tokens_ = register_buffer("tokens", at::arange(vocabulary_));
  finish_loading();
}

void AdaptiveOutput::register_tied(const OutputOptions& options, const AdaptiveOutputOptions& own) {
  const auto* const tables = tied_->clusters();
  TORCH_CHECK(tables != nullptr, "the embeddings of a tied adaptive softmax have no clusters");
  const auto width = tables->words.front().size(1);
  if (width != options.width) {
    throw UserError(str_cat("model.output: the features have ", options.width,
                            " dimensions, must be ", width,
                            ", as the word embeddings have, to be tied to them"));
  }
  if (tables->bounds != bounds_) {
    throw UserError("model.output.cutoffs: must be those of model.embedding to be tied to it");
  }
  if (clusters() == 0) {
    return;
  }
  cluster_rows_ =
      register_parameter("clusters", at::empty({static_cast<int64_t>(clusters()), options.width}));
  for (std::size_t i = 1; i <= clusters() && !own.ties_projections; ++i) {
    down_.emplace_back(register_module(
        str_cat("down_", i),
        Linear(LinearOptions{options.width, tables->words[i].size(1), /*has_bias=*/false})));
  }
}

void AdaptiveOutput::finish_loading() {
  if (tokens_.defined()) {
    ranks_ = ranks_of(tokens_, vocabulary_, "the token order of the adaptive softmax");
  }
}

at::Tensor AdaptiveOutput::head_weight() const {
  if (tied_ == nullptr) {
    return head_->weight();
  }
  const auto& words = tied_->clusters()->words.front();
  return cluster_rows_.defined() ? at::cat({words, cluster_rows_}) : words;
}

at::Tensor AdaptiveOutput::projected(const at::Tensor& features, std::size_t cluster) {
  return down_.empty()
             ? kernels::linear(features, tied_->clusters()->projections[cluster + 1].t(), {})
             : down_[cluster]->forward(features);
}

at::Tensor AdaptiveOutput::cluster_weight(std::size_t cluster) const {
  return tied_ ? tied_->clusters()->words[cluster + 1] : up_[cluster]->weight();
}

at::Tensor AdaptiveOutput::scores(const at::Tensor& projected, std::size_t cluster) {
  return tied_ ? kernels::linear(projected, cluster_weight(cluster), {})
               : up_[cluster]->forward(projected);
}

at::Tensor AdaptiveOutput::logits(const TokenStates& input, const OutputMatrix& /*matrix*/) {
  const auto& features = input.states;
  const auto head = at::log_softmax(
      tied_ ? kernels::linear(features, head_weight(), {}) : head_->forward(features), 1,
      at::kFloat);
  std::vector<at::Tensor> parts = {head.narrow(1, 0, shortlist())};
  for (std::size_t i = 0; i < clusters(); ++i) {
    parts.push_back(at::log_softmax(scores(projected(features, i), i), 1, at::kFloat) +
                    head.narrow(1, shortlist() + static_cast<int64_t>(i), 1));
  }
  return at::cat(parts, 1).index_select(1, kernels::to_device(ranks(), features.device()));
}

at::Tensor AdaptiveOutput::loss(const TokenStates& input,
                                const at::Tensor& targets,
                                const OutputMatrix& /*matrix*/,
                                const ForwardContext& /*context*/) {
  const auto& features = input.states;
  const auto ids = targets.cpu();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  std::vector<int64_t> heads;
  std::vector<std::vector<int64_t>> rows(clusters());  // of each cluster
  std::vector<std::vector<int64_t>> places(clusters());
  for (int64_t row = 0; row < ids.numel(); ++row) {
    const auto rank = ranks()[static_cast<std::size_t>(tokens[row])];
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
  auto sum =
      kernels::linear_cross_entropy(features, head_weight(), {}, kernels::to_device(heads, device));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].empty()) {
      const auto own = features.index_select(0, kernels::to_device(rows[i], device));
      sum = sum + kernels::linear_cross_entropy(projected(own, i), cluster_weight(i), {},
                                                kernels::to_device(places[i], device));
    }
  }
  return sum;
}

}  // namespace

OutputMaker read_adaptive_output(config::Section& section) {
  AdaptiveOutputOptions own;
  own.frequency = read_frequency_clusters(section);
  section.read("tie_projections", own.ties_projections,
               {.help = "If tied to adaptive embeddings: also shares the projections of the "
                        "clusters after the first."});
  return [own](const OutputOptions& options) {
    return std::make_shared<AdaptiveOutput>(options, own);
  };
}

std::string adaptive_tie_error(const std::string& keys, const std::string* embedding_keys) {
  if (embedding_keys == nullptr) {
    auto section = config::Document::parse(keys, "output").root();
    bool ties_projections = false;
    section.read("tie_projections", ties_projections, {.help = ""});
    return ties_projections
               ? "output.tie_projections has no effect without ties to embedding.type: "
                 "adaptive"
               : "";
  }
  const auto of = [](const std::string& text) {
    auto section = config::Document::parse(text, "keys").root();
    return read_frequency_clusters(section);
  };
  return of(keys) == of(*embedding_keys)
             ? ""
             : "cutoffs and factor of output and embedding must be the same to tie them";
}

}  // namespace weft::nn
