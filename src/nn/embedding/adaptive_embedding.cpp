#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <ATen/Functions.h>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/embedding.h"
#include "kernels/to_device.h"
#include "nn/embedding/token_embedding.h"
#include "nn/linear.h"

namespace weft::nn {

namespace {

struct AdaptiveEmbeddingOptions {
  std::vector<int64_t> cutoffs = {2000, 10000};
  double factor = 4;
};

/// Tokens by frequency in bands. Band k has vectors of D / factor^k dimensions, which a matrix of
/// its own maps to D.
class AdaptiveEmbedding : public TokenEmbedding {
 public:
  AdaptiveEmbedding(const TokenEmbeddingOptions& options, const AdaptiveEmbeddingOptions& own);

  bool needs_counts() const override { return words_.size() > 1; }
  void fit(const TokenStatistics& statistics) override;
  void finish_loading() override;
  at::Tensor forward(const at::Tensor& ids) override;

 private:
  int64_t vocabulary_;
  std::vector<int64_t> bounds_;      // first ranks of the bands after the first, and V
  std::vector<at::Tensor> words_;    // (tokens of the band, D / factor^k)
  std::vector<Linear> projections_;  // D / factor^k -> D
  at::Tensor tokens_;                // (V), by falling frequency
  std::vector<int64_t> ranks_;       // V, of each token
};

AdaptiveEmbedding::AdaptiveEmbedding(const TokenEmbeddingOptions& options,
                                     const AdaptiveEmbeddingOptions& own)
    : vocabulary_(options.vocabulary), bounds_(own.cutoffs) {
  if (!bounds_.empty() && bounds_.back() >= vocabulary_) {
    throw UserError(str_cat("model.embedding.cutoffs: ", bounds_.back(), ", must be below ",
                            vocabulary_, ", the size of the vocabulary"));
  }
  bounds_.push_back(vocabulary_);
  auto width = static_cast<double>(options.dim);
  int64_t first = 0;
  for (const auto end : bounds_) {
    const auto inner = std::max<int64_t>(1, static_cast<int64_t>(width));
    const auto index = words_.size();
    words_.push_back(register_parameter(numbered("words", index), at::empty({end - first, inner})));
    projections_.push_back(register_module(numbered("projection", index),
                                           Linear(LinearOptions{inner, options.dim, false})));
    first = end;
    width /= own.factor;
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
  const auto tokens = tokens_.cpu();
  const auto* ids = tokens.const_data_ptr<int64_t>();
  ranks_.assign(static_cast<std::size_t>(vocabulary_), -1);
  for (int64_t rank = 0; rank < vocabulary_; ++rank) {
    if (ids[rank] < 0 || ids[rank] >= vocabulary_ ||
        std::exchange(ranks_[static_cast<std::size_t>(ids[rank])], rank) >= 0) {
      throw UserError("model.safetensors: the token order of the adaptive embedding is damaged");
    }
  }
}

at::Tensor AdaptiveEmbedding::forward(const at::Tensor& ids) {
  const auto on_host = ids.cpu().contiguous();
  const auto* tokens = on_host.const_data_ptr<int64_t>();
  std::vector<std::vector<int64_t>> rows(words_.size());  // of each band
  std::vector<std::pair<std::size_t, int64_t>> places;    // band of each token, and place in it
  places.reserve(static_cast<std::size_t>(on_host.numel()));
  for (int64_t i = 0; i < on_host.numel(); ++i) {
    const auto rank = ranks_[static_cast<std::size_t>(tokens[i])];
    const auto band =
        static_cast<std::size_t>(std::ranges::upper_bound(bounds_, rank) - bounds_.begin());
    places.emplace_back(band, static_cast<int64_t>(rows[band].size()));
    rows[band].push_back(rank - (band == 0 ? 0 : bounds_[band - 1]));
  }
  std::vector<at::Tensor> vectors;
  std::vector<int64_t> begins;  // of the bands among all vectors
  int64_t begin = 0;
  for (std::size_t band = 0; band < rows.size(); ++band) {
    begins.push_back(begin);
    begin += static_cast<int64_t>(rows[band].size());
    vectors.push_back(projections_[band]->forward(kernels::embedding_sum(
        words_[band], kernels::to_device(rows[band], ids.device()), {}, {}, {}, {})));
  }
  std::vector<int64_t> order;
  order.reserve(places.size());
  for (const auto& [band, place] : places) {
    order.push_back(begins[band] + place);
  }
  return at::cat(vectors).index_select(0, kernels::to_device(order, ids.device()));
}

}  // namespace

TokenEmbeddingMaker read_adaptive_embedding(config::Section& section) {
  AdaptiveEmbeddingOptions own;
  section.read("cutoffs", own.cutoffs,
               {.help = "Ranks, by frequency in the training data, at which the bands after the "
                        "first begin. [2000, 10000]: the 2000 most frequent tokens have vectors "
                        "of all dimensions.",
                .unit = "tokens",
                .range = config::between(1, 1 << 28)});
  if (std::ranges::adjacent_find(own.cutoffs, std::greater_equal<>()) != own.cutoffs.end()) {
    section.fail("cutoffs", "each must be above the one before it");
  }
  section.read("factor", own.factor,
               {.help = "The vectors of each band have this many times fewer dimensions than those "
                        "of the band before it.",
                .range = config::between(1, 1024)});
  return [own](const TokenEmbeddingOptions& options) {
    return std::make_shared<AdaptiveEmbedding>(options, own);
  };
}

}  // namespace weft::nn
