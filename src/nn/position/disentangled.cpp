#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "nn/norm/norm.h"
#include "nn/position/position_types.h"

namespace weft::nn {

namespace {

class DisentangledDistances : public DistanceEmbedding {
 public:
  DisentangledDistances(const DisentangledOptions& own, const PositionOptions& options)
      : own_(own), span_(distance_span(own)) {
    weight_ = register_parameter("weight", at::empty({2 * span_, options.hidden_dim}));
    if (own.has_norm) {
      norm_ = register_module("norm",
                              default_component(norm_types(), "layer")
                                  .make({.dim = options.hidden_dim, .epsilon = own.norm_epsilon}));
    }
  }

  /// Only the rows of distances that occur.
  DistanceTable forward(int64_t longest) override {
    auto rows = std::make_shared<std::vector<int32_t>>();
    for (int64_t distance = 1 - longest; distance < longest; ++distance) {  // of the key
      rows->push_back(static_cast<int32_t>(row_of(-distance)));
    }
    const auto [least, most] = std::ranges::minmax(*rows);
    for (auto& row : *rows) {
      row -= least;
    }
    const auto used = weight_.slice(0, least, most + 1);
    return {.vectors = norm_ != nullptr ? norm_->forward(used) : used, .rows = std::move(rows)};
  }

 private:
  int64_t row_of(int64_t offset) const {
    return std::clamp<int64_t>(disentangled_bucket(offset, own_) + span_, 0, 2 * span_ - 1);
  }

  DisentangledOptions own_;
  int64_t span_;
  at::Tensor weight_;           // (2 span, D)
  std::shared_ptr<Norm> norm_;  // null: none
};

}  // namespace

int64_t distance_span(const DisentangledOptions& options) {
  return options.buckets > 0 ? options.buckets : options.max_distance;
}

int64_t disentangled_bucket(int64_t offset, const DisentangledOptions& options) {
  const int64_t middle = options.buckets / 2;
  const auto distance = std::abs(offset);
  if (options.buckets <= 0 || distance <= middle) {
    return offset;
  }
  // In single precision, as in the training of the published models.
  const auto ratio = [&](double x) { return static_cast<float>(x) / static_cast<float>(middle); };
  const auto largest = static_cast<float>(std::log(static_cast<double>(static_cast<float>(
      static_cast<double>(options.max_distance - 1) / static_cast<double>(middle)))));
  const float fraction = std::log(ratio(static_cast<double>(distance))) / largest;
  const auto further = static_cast<int64_t>(std::ceil(fraction * static_cast<float>(middle - 1)));
  return (middle + further) * (offset < 0 ? -1 : 1);
}

PositionMaker disentangled_position(const DisentangledOptions& own) {
  return [own](const PositionOptions& options) {
    return std::make_shared<Position>(Position{
        .distances = std::make_shared<DisentangledDistances>(own, options),
        .distance_scores = own.scores,
        .further_score_terms =
            (own.scores.content_to_position ? 1 : 0) + (own.scores.position_to_content ? 1 : 0)});
  };
}

DisentangledOptions read_disentangled_options(config::Section& section, DisentangledOptions own) {
  section.read(
      "buckets", own.buckets,
      {.help = "Vectors for the distances on each side: half of them for single distances, "
               "the others for growing ranges. 0: one for each distance.",
       .unit = "buckets",
       .range = config::between(0, 1 << 16)});
  section.read("max_distance", own.max_distance,
               {.help = "Larger distances share the last vector.",
                .unit = "tokens",
                .range = config::between(4, 1 << 20)});
  section.read("content_to_position", own.scores.content_to_position,
               {.help = "Scores of a query and the distance."});
  section.read("position_to_content", own.scores.position_to_content,
               {.help = "Scores of a key and the distance."});
  section.read(
      "share_projections", own.scores.shares_projections,
      {.help = "The vectors are projected like tokens; else each layer has projections for "
               "them."});
  section.read("norm", own.has_norm, {.help = "A norm of the vectors."});
  if (own.buckets > 0 && (own.buckets < 4 || own.max_distance <= own.buckets / 2 + 1)) {
    section.fail("buckets", str_cat("found ", own.buckets,
                                    ", allowed are 0, or 4 or more and less than twice "
                                    "max_distance, ",
                                    own.max_distance));
  }
  if (!own.scores.content_to_position && !own.scores.position_to_content) {
    section.fail("content_to_position", "and position_to_content are both false: no positions");
  }
  return own;
}

PositionMaker read_disentangled_position(config::Section& section) {
  auto own = section.only_with("type: disentangled");
  auto options = read_disentangled_options(own, {});
  own.read("dropout", options.scores.dropout,
           {.help = "Dropout probability of the vectors.", .range = config::half_open(0, 1)});
  return disentangled_position(options);
}

}  // namespace weft::nn
