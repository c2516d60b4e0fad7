#include "nn/attention/scores/score_functions.h"

#include <optional>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "base/string_util.h"
#include "kernels/flop_counter.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/linear.h"

namespace weft::nn {

namespace {

void require_equal_widths(const ScoreOptions& options, std::string_view name) {
  if (options.query_width != options.key_width) {
    throw UserError(str_cat("attention.score: ", name,
                            " needs queries and keys of the same width, "
                            "found ",
                            options.query_width, " and ", options.key_width,
                            "; allowed are general and additive"));
  }
}

/// q^T W k (arXiv:1508.04025, section 3.1).
class GeneralScore : public ScoreFunction {
 public:
  explicit GeneralScore(const ScoreOptions& options) {
    query_ = register_module("query",
                             Linear(LinearOptions{options.query_width, options.key_width, false}));
  }

  at::Tensor scores(const AttentionTile& tile) override {
    const auto query = tile.query;
    const auto rows = query_->forward(query.reshape({-1, query.size(-1)}));
    auto sizes = query.sizes().vec();
    sizes.back() = rows.size(1);
    return dot_.scores(
        {.span = tile.span, .query = rows.view(sizes), .key = tile.key, .context = tile.context});
  }
  bool is_position_independent() const override { return true; }

 private:
  Linear query_{nullptr};
  DotProductScore dot_{1.0};
};

/// v . tanh(W q + U k + b) (arXiv:1409.0473, appendix A.1.2), which is also the concatenation
/// score v . tanh([W; U] [q; k] + b).
class AdditiveScore : public ScoreFunction {
 public:
  AdditiveScore(const ScoreOptions& options, int64_t width) {
    query_ = register_module("query", Linear(LinearOptions{options.query_width, width, false}));
    key_ = register_module("key", Linear(LinearOptions{options.key_width, width}));
    vector_ = register_parameter("vector", at::empty({1, width}));
  }

  at::Tensor prepared_keys(const at::Tensor& key) override {
    return over_last_dimension(*key_, key);  // (G, H, S, A)
  }
  at::Tensor scores(const AttentionTile& tile) override {
    const auto query = over_last_dimension(*query_, tile.query);              // (G, H, L, A)
    const auto sums = (query.unsqueeze(-2) + tile.key.unsqueeze(-3)).tanh();  // (G, H, L, S, A)
    const auto scores = at::matmul(sums, vector_.squeeze(0));                 // (G, H, L, S)
    const int64_t flops = 2 * sums.numel();
    kernels::count_with_backward(scores, flops, 2 * flops);
    return scores.to(at::kFloat);
  }
  bool is_position_independent() const override { return true; }

 private:
  static at::Tensor over_last_dimension(LinearImpl& linear, const at::Tensor& x) {
    auto sizes = x.sizes().vec();
    const auto rows = linear.forward(x.reshape({-1, x.size(-1)}));
    sizes.back() = rows.size(1);
    return rows.view(sizes);
  }

  Linear query_{nullptr};
  Linear key_{nullptr};
  at::Tensor vector_;  // (1, A)
};

/// W q: a score for each position, whatever the key (arXiv:1508.04025, equation 8).
class LocationScore : public ScoreFunction {
 public:
  LocationScore(const ScoreOptions& options, int64_t positions) : positions_(positions) {
    query_ = register_module("query", Linear(LinearOptions{options.query_width, positions, false}));
  }

  at::Tensor scores(const AttentionTile& tile) override {
    const auto keys = tile.key.size(-2);
    if (keys > positions_) {
      throw UserError(
          str_cat("attention.positions: ", positions_, ", but a text has ", keys, " tokens"));
    }
    auto sizes = tile.query.sizes().vec();
    sizes.back() = keys;
    const auto rows = tile.query.reshape({-1, tile.query.size(-1)});
    return query_->forward(rows).narrow(1, 0, keys).reshape(sizes).to(at::kFloat);
  }

 private:
  int64_t positions_;
  Linear query_{nullptr};
};

ScoreMaker read_dot(config::Section& /*section*/) {
  return [](const ScoreOptions& options) {
    require_equal_widths(options, "dot");
    return std::make_shared<DotProductScore>(1.0);
  };
}

ScoreMaker read_scaled_dot(config::Section& /*section*/) {
  return [](const ScoreOptions& options) {
    require_equal_widths(options, "scaled_dot");
    return std::make_shared<DotProductScore>(0);
  };
}

ScoreMaker read_general(config::Section& /*section*/) {
  return [](const ScoreOptions& options) { return std::make_shared<GeneralScore>(options); };
}

ScoreMaker read_additive(config::Section& section) {
  std::optional<int64_t> width;
  section.read("width", width,
               {.help = "Hidden size of the score function. null: the width of the queries.",
                .unit = "features",
                .range = config::between(1, 65536)});
  return [width](const ScoreOptions& options) {
    return std::make_shared<AdditiveScore>(options, width.value_or(options.query_width));
  };
}

ScoreMaker read_location(config::Section& section) {
  int64_t positions = 512;
  section.read("positions", positions,
               {.help = "Maximum number of keys: each position has a score of its own.",
                .unit = "tokens",
                .range = config::between(1, 65536)});
  return [positions](const ScoreOptions& options) {
    return std::make_shared<LocationScore>(options, positions);
  };
}

Registry<ScoreDefinition>& score_registry() {
  static Registry<ScoreDefinition> registry("score function", {{"additive", read_additive},
                                                               {"dot", read_dot},
                                                               {"scaled_dot", read_scaled_dot},
                                                               {"general", read_general},
                                                               {"location", read_location}});
  return registry;
}

}  // namespace

const Registry<ScoreDefinition>& score_functions() { return score_registry(); }

void register_score_function(const ScoreDefinition& definition) {
  score_registry().add(definition);
}

}  // namespace weft::nn
