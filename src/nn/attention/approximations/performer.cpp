#include <algorithm>
#include <cmath>
#include <optional>

#include <ATen/ATen.h>

#include "base/random.h"
#include "kernels/linear/linear.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/linear_core.h"
#include "nn/attention/self_attention.h"
#include "nn/initial_values.h"

namespace weft::nn {

namespace {

/// elu(x) + 1 (arXiv:2006.16236, equation 7).
class EluFeatures : public FeatureMap {
 public:
  Features query_features(const at::Tensor& x) override {
    return {.values = map(x), .log_scale = {}};
  }
  Features key_features(const at::Tensor& x) override {
    return {.values = map(x), .log_scale = {}};
  }

 private:
  static at::Tensor map(const at::Tensor& x) { return at::elu(x) + 1; }
};

struct PerformerOptions {
  std::optional<int64_t> count = {};
  bool is_orthogonal = true;
  std::optional<int64_t> redraw_every = {};
  int64_t seed = 0;
};

/// exp(W x - |x|^2 / 2) for random rows W (arXiv:2009.14794, lemma 1): the product of the features
/// of q and k is exp(q . k) on average.
class SoftmaxFeatures : public FeatureMap {
 public:
  SoftmaxFeatures(const AttentionOptions& options, const PerformerOptions& own)
      : own_(own), layer_(options.layer), width_(head_dim(options)), scale_(score_scale(options)) {
    const auto most =
        std::lround(static_cast<double>(width_) * std::log(static_cast<double>(width_)));
    count_ = own.count.value_or(std::max<int64_t>(1, most));
    projection_ = register_buffer("projection", at::empty({count_, width_}));
    draw(0);
  }

  Features query_features(const at::Tensor& x) override {
    const auto logs = log_features(x);
    return {.values = (logs - std::get<0>(logs.detach().max(2, true))).exp(), .log_scale = {}};
  }
  Features key_features(const at::Tensor& x) override {
    const auto logs = log_features(x);
    const auto top = std::get<0>(logs.detach().max(2, true));
    return {.values = (logs - top).exp(), .log_scale = top.squeeze(2)};
  }
  void begin_step(uint64_t step) override {
    if (own_.redraw_every) {
      draw(static_cast<int64_t>(step) / *own_.redraw_every);
    }
  }

 private:
  at::Tensor log_features(const at::Tensor& x) const {
    const auto scaled = x * std::sqrt(scale_);
    const auto products =
        kernels::linear(scaled.flatten(0, 1), projection_.to(x.scalar_type()), {});
    return products.unflatten(0, {x.size(0), x.size(1)}) - scaled.square().sum(2, true) / 2;
  }

  /// The rows of draw `index`, a pure function of seed, layer and index.
  void draw(int64_t index) {
    if (index == drawn_) {
      return;
    }
    drawn_ = index;
    Random random(static_cast<uint64_t>(own_.seed), RandomPurpose::kFeatures,
                  static_cast<uint64_t>(index), static_cast<uint64_t>(layer_));
    const auto rows = normal_tensor({count_, width_}, random);
    if (own_.is_orthogonal) {
      for (int64_t first = 0; first < count_; first += width_) {
        orthogonalize(rows.slice(0, first, std::min(count_, first + width_)));
      }
      rows.mul_(normal_tensor({count_, width_}, random).norm(2, {1}, true));
    }
    const at::NoGradGuard guard;
    projection_.copy_(rows);
  }

  /// Gram-Schmidt, whose result is uniformly distributed; the factor of a QR decomposition is not
  /// without the signs of R.
  static void orthogonalize(const at::Tensor& rows) {
    for (int64_t i = 0; i < rows.size(0); ++i) {
      auto row = rows[i];
      for (int64_t j = 0; j < i; ++j) {
        row.sub_(rows[j] * (rows[j] * row).sum());
      }
      row.div_(row.norm());
    }
  }

  PerformerOptions own_;
  int64_t layer_;
  int64_t width_;
  double scale_;
  int64_t count_ = 0;
  int64_t drawn_ = -1;
  at::Tensor projection_;  // (R, K)
};

std::shared_ptr<Attention> make_linear(const AttentionOptions& options,
                                       const std::shared_ptr<FeatureMap>& map) {
  return attention_with_core(options, std::make_shared<LinearCore>(options, map));
}

}  // namespace

AttentionMaker read_linear_attention(config::Section& /*section*/) {
  return [](const AttentionOptions& options) {
    return make_linear(options, std::make_shared<EluFeatures>());
  };
}

AttentionMaker read_performer_attention(config::Section& section) {
  PerformerOptions own;
  section.read("features", own.count,
               {.help = "Random features of each head. null: K ln K for heads of width K.",
                .range = config::between(1, 1 << 16)});
  section.read("orthogonal", own.is_orthogonal,
               {.help = "Features from orthogonal directions, which vary less."});
  section.read("redraw_every", own.redraw_every,
               {.help = "New random features after so many steps of training. null: never.",
                .unit = "steps",
                .range = config::at_least(1)});
  section.read("seed", own.seed,
               {.help = "Seed of the random features.", .range = config::between(0, 1e15)});
  return [own](const AttentionOptions& options) {
    return make_linear(options, std::make_shared<SoftmaxFeatures>(options, own));
  };
}

}  // namespace weft::nn
