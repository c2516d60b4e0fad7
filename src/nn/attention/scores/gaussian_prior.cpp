#include <cmath>

#include <ATen/ATen.h>

#include "kernels/sum.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/attention/self_attention.h"
#include "nn/initial_values.h"

namespace weft::nn {

namespace {

enum class PriorForm { kDistance, kLocal };
enum class PriorWindow { kFixed, kLayer, kQuery };

/// Subtracts |w d^2 + b| for a distance of d tokens, with w > 0 and b <= 0 for each head (Guo,
/// Zhang and Liu, "Gaussian Transformer", AAAI 2019).
class DistancePrior : public ScoreModifier, public InitialValues {
 public:
  explicit DistancePrior(int64_t heads) {
    width_ = register_parameter("width", at::empty({heads}));
    shift_ = register_parameter("shift", at::empty({heads}));
  }

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override {
    const auto by_head = [&](const at::Tensor& x) {
      return at::softplus(x.to(scores.scalar_type())).view({-1, 1, 1});
    };
    const auto distance = key_distances(tile).to(scores.scalar_type());
    return scores - (by_head(width_) * distance.square() - by_head(shift_)).abs();
  }
  /// w = 0.01 and b = -0.01: flat, but not where |w d^2 + b| has no gradient.
  void initialize(const std::string& /*name*/, at::Tensor parameter) const override {
    parameter.fill_(std::log(std::expm1(0.01)));
  }

 private:
  at::Tensor width_;
  at::Tensor shift_;
};

/// Subtracts (j - P)^2 / (2 sigma^2) with a centre P that each query predicts, and a window of
/// 2 sigma that is fixed, or predicted by the mean key or by each query (arXiv:1810.10182, section
/// 3). In causal models the query's place takes that of the length, and the mean is over the keys
/// so far.
class LocalPrior : public ScoreModifier {
 public:
  LocalPrior(const AttentionOptions& options, PriorWindow window, double fixed_window)
      : window_(window), fixed_window_(fixed_window), is_causal_(options.is_causal) {
    const auto width = head_dim(options);
    query_ = register_parameter("query", at::empty({width, width}));
    centre_ = register_parameter("centre", at::empty({options.heads, width}));
    if (window != PriorWindow::kFixed) {
      extent_ = register_parameter("extent", at::empty({options.heads, width}));
    }
    if (window == PriorWindow::kLayer) {
      key_ = register_parameter("key", at::empty({width, width}));
    }
  }

  at::Tensor scores(const at::Tensor& scores, const AttentionTile& tile) override {
    const auto type = scores.scalar_type();
    const auto query_position = (at::arange(tile.span.queries, scores.options()) + tile.span.offset)
                                    .unsqueeze(1);                           // (L, 1)
    const auto key_position = at::arange(tile.span.keys, scores.options());  // (S)
    const auto projected = [&](const at::Tensor& x, const at::Tensor& weight) {
      return project_features(x, weight).tanh().to(type);
    };
    const auto query = projected(tile.query, query_);  // (G, H, L, K)
    const auto share = [](const at::Tensor& features, const at::Tensor& vectors) {
      return (features * repeat_for_rows(vectors, features)).sum(-1, true).sigmoid();
    };
    const auto length = is_causal_ ? query_position + 1
                                   : at::full({1, 1}, static_cast<double>(tile.span.keys),
                                              scores.options());  // (L or 1, 1)
    const auto centre = length * share(query, centre_);           // (G, H, L, 1)
    at::Tensor extent;
    switch (window_) {
      case PriorWindow::kFixed:
        extent = at::full({1, 1}, fixed_window_, scores.options());
        break;
      case PriorWindow::kLayer:
        extent = length * share(projected(mean_keys(tile), key_), extent_);
        break;
      case PriorWindow::kQuery:
        extent = length * share(query, extent_);
        break;
    }
    const auto sigma = extent / 2;
    return scores - (key_position - centre).square() / (2 * sigma.square());
  }

 private:
  /// (G, H, 1, K), or (G, H, L, K) if causal
  at::Tensor mean_keys(const AttentionTile& tile) const {
    if (!is_causal_) {
      return tile.key.mean(2, true);
    }
    const auto keys = tile.key.to(kernels::accumulate_type(tile.key));  // long sums, exact counts
    const auto counts = at::arange(1, tile.span.keys + 1, keys.options()).unsqueeze(1);
    return (keys.cumsum(2) / counts).slice(2, tile.span.offset);
  }

  PriorWindow window_;
  double fixed_window_;
  bool is_causal_;
  at::Tensor query_;   // (K, K)
  at::Tensor key_;     // (K, K)
  at::Tensor centre_;  // (H, K)
  at::Tensor extent_;  // (H, K)
};

}  // namespace

AttentionMaker read_gaussian_attention(config::Section& section) {
  auto form = PriorForm::kDistance;
  auto window = PriorWindow::kQuery;
  double fixed_window = 10;
  section.read_choice(
      "form", form, {{"distance", PriorForm::kDistance}, {"local", PriorForm::kLocal}},
      {.help = "distance: scores fall with the square of the distance, at a rate "
               "that each head learns. local: each query predicts the centre of its "
               "window."});
  if (form == PriorForm::kLocal || section.is_documenting()) {
    section.read_choice("window_size", window,
                        {{"query", PriorWindow::kQuery},
                         {"layer", PriorWindow::kLayer},
                         {"fixed", PriorWindow::kFixed}},
                        {.help = "Who predicts the size of the window: each query, or the mean of "
                                 "the keys. fixed: `fixed_window`.",
                         .only_if = "form: local"});
  } else if (section.has("window_size")) {
    section.fail("window_size", "has no effect with `form: distance`");
  }
  if ((form == PriorForm::kLocal && window == PriorWindow::kFixed) || section.is_documenting()) {
    section.read("fixed_window", fixed_window,
                 {.help = "Two standard deviations of the window.",
                  .unit = "tokens",
                  .range = config::above(0),
                  .only_if = "window_size: fixed"});
  } else if (section.has("fixed_window")) {
    section.fail("fixed_window", "has no effect without `window_size: fixed`");
  }
  return [=](const AttentionOptions& options) {
    auto parts = dense_parts(options);
    if (form == PriorForm::kDistance) {
      parts.modifiers.push_back({"prior", std::make_shared<DistancePrior>(options.heads)});
    } else {
      parts.modifiers.push_back(
          {"prior", std::make_shared<LocalPrior>(options, window, fixed_window)});
    }
    return attention_with_core(options, std::make_shared<DenseCore>(options, parts));
  };
}

}  // namespace weft::nn
