#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "kernels/embedding.h"
#include "kernels/to_device.h"
#include "nn/embedding/token_embedding.h"
#include "nn/linear.h"

namespace weft::nn {

namespace {

// Characters are the bytes of UTF-8, and three more.
constexpr int64_t kBegin = 256;
constexpr int64_t kEnd = 257;
constexpr int64_t kPadding = 258;
constexpr int64_t kCharacters = 259;

constexpr int64_t kMostFilters = 1 << 16;

/// Added to the gates of highways, which begin by passing on what they read (arXiv:1505.00387,
/// section 3).
constexpr double kGateOffset = -2;

struct CharacterOptions {
  int64_t dim = 16;                                                  // of a character
  std::vector<int64_t> widths = {1, 2, 3, 4, 5, 6, 7};               // of the filters
  std::vector<int64_t> filters = {32, 32, 64, 128, 256, 512, 1024};  // of each width
  int64_t highways = 2;
  int64_t length = 50;  // characters of a token, with begin and end; the rest is cut off
};

/// y = t relu(W x + b) + (1 - t) x with t = sigmoid(W_t x + b_t).
class HighwayImpl : public torch::nn::Module {
 public:
  explicit HighwayImpl(int64_t dim) {
    transform_ = register_module("transform", Linear(LinearOptions{dim, dim}));
    gate_ = register_module("gate", Linear(LinearOptions{dim, dim}));
  }

  at::Tensor forward(const at::Tensor& x) {
    const auto gate = at::sigmoid(gate_->forward(x) + kGateOffset);
    return x + gate * (at::relu(transform_->forward(x)) - x);
  }

 private:
  Linear transform_{nullptr};
  Linear gate_{nullptr};
};
TORCH_MODULE(Highway);

/// All runs of `width` rows, side by side: (U, L, C) -> (U, L - width + 1, width C). A convolution
/// is their matrix product, whose gradient, unlike that of at::conv1d, does not depend on the
/// number of threads.
at::Tensor windows(const at::Tensor& x, int64_t width) {
  std::vector<at::Tensor> shifted;
  for (int64_t j = 0; j < width; ++j) {
    shifted.push_back(x.narrow(1, j, x.size(1) - width + 1));
  }
  return at::cat(shifted, 2);
}

class CharacterEmbedding : public TokenEmbedding {
 public:
  CharacterEmbedding(const TokenEmbeddingOptions& options, const CharacterOptions& own)
      : own_(own), vocabulary_(options.vocabulary) {
    spelling_ =
        register_buffer("spelling", at::full({vocabulary_, own.length}, kPadding, at::kLong));
    characters_ = register_parameter("characters", at::empty({kCharacters, own.dim}));
    for (std::size_t i = 0; i < own.widths.size(); ++i) {
      filters_.emplace_back(register_module(
          str_cat("filters_", i), Linear(LinearOptions{own.widths[i] * own.dim, own.filters[i]})));
    }
    const auto features = std::accumulate(own.filters.begin(), own.filters.end(), int64_t{0});
    for (int64_t i = 0; i < own.highways; ++i) {
      highways_.emplace_back(register_module(str_cat("highway_", i), Highway(features)));
    }
    projection_ = register_module("projection", Linear(LinearOptions{features, options.dim}));
  }

  /// As in allenai/bilm-tf and torch::nn::Linear.
  InitialSpread initial_spread(const std::string& parameter,
                               const at::Tensor& value) const override {
    const auto inputs = static_cast<double>(value.size(1));
    return {.kind = InitialSpread::Kind::kUniform,
            .value = parameter == "characters" ? 1 : 1 / std::sqrt(inputs)};
  }

  void fit(const TokenStatistics& statistics) override {
    std::vector<int64_t> spelling(static_cast<std::size_t>(vocabulary_ * own_.length), kPadding);
    auto row = spelling.begin();
    for (int64_t id = 0; id < vocabulary_; ++id, row += own_.length) {
      const auto text = statistics.token(id).substr(0, static_cast<std::size_t>(own_.length) - 2);
      *row = kBegin;
      const auto end = std::ranges::transform(text, row + 1, [](char byte) {
                         return static_cast<unsigned char>(byte);
                       }).out;
      *end = kEnd;
    }
    spelling_.copy_(kernels::to_device(spelling, at::kCPU).view_as(spelling_));
  }

  void finish_loading() override {
    if (spelling_.numel() > 0 &&
        (at::lt(spelling_, 0) | at::ge(spelling_, kCharacters)).any().item<bool>()) {
      throw UserError(
          str_cat("embeddings.spelling: characters must be from 0 to ", kCharacters - 1));
    }
  }

  at::Tensor forward(const at::Tensor& ids) override {
    // A token that occurs several times is computed once.
    const auto [tokens, places] = at::_unique(ids, /*sorted=*/true, /*return_inverse=*/true);
    const auto characters = spelling_.index_select(0, tokens);  // (U, L)
    const auto x = kernels::embedding_sum(characters_, characters.flatten(), {}, {}, {}, {})
                       .view({-1, own_.length, own_.dim});  // (U, L, C)
    std::vector<at::Tensor> features;
    features.reserve(filters_.size());
    for (std::size_t i = 0; i < filters_.size(); ++i) {
      const auto inputs = windows(x, own_.widths[i]);  // (U, T, width C)
      const auto outputs =
          filters_[i]->forward(inputs.flatten(0, 1)).unflatten(0, {inputs.size(0), -1});
      features.push_back(at::relu(at::amax(outputs, 1)));
    }
    auto vectors = at::cat(features, 1);  // (U, F)
    for (auto& highway : highways_) {
      vectors = highway->forward(vectors);
    }
    return projection_->forward(vectors).index_select(0, places);
  }

 private:
  CharacterOptions own_;
  int64_t vocabulary_;
  at::Tensor spelling_;          // (V, L) int64
  at::Tensor characters_;        // (259, C)
  std::vector<Linear> filters_;  // each (filters, width C)
  std::vector<Highway> highways_;
  Linear projection_{nullptr};
};

}  // namespace

TokenEmbeddingMaker read_character_embedding(config::Section& section) {
  CharacterOptions own;
  section.read("character_dim", own.dim,
               {.help = "Size of the embedding of a character (a byte of UTF-8).",
                .unit = "features",
                .range = config::between(1, 4096)});
  section.read("filter_widths", own.widths,
               {.help = "Widths of the convolutions.",
                .unit = "characters",
                .range = config::between(1, 100)});
  section.read(
      "filters", own.filters,
      {.help = "Number of filters of each width.", .range = config::between(1, kMostFilters)});
  section.read("highways", own.highways,
               {.help = "Number of highway layers after the convolutions (arXiv:1505.00387).",
                .unit = "layers",
                .range = config::between(0, 16)});
  section.read("max_characters", own.length,
               {.help = "Characters of a token that are read, with its begin and its end.",
                .unit = "characters",
                .range = config::between(3, 1000)});
  if (own.filters.empty() || own.filters.size() != own.widths.size()) {
    section.report("filters", str_cat(own.filters.size(), " numbers for ", own.widths.size(),
                                      " filter_widths, must be one for each, and at least one"));
  } else if (*std::ranges::max_element(own.widths) > own.length) {
    section.report("filter_widths", str_cat(*std::ranges::max_element(own.widths),
                                            ", must be at most max_characters ", own.length));
  }
  return [own](const TokenEmbeddingOptions& options) {
    return std::make_shared<CharacterEmbedding>(options, own);
  };
}

}  // namespace weft::nn
