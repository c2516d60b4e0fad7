#include "train/checkpoint/moments_of_ranks.h"

#include <cstddef>

#include "train/checkpoint/checkpoint.h"

namespace weft::train {

namespace {

constexpr auto kOuterMomentum = "outer_momentum";

}  // namespace

std::vector<std::pair<std::string, at::Tensor>> moments_of_ranks(const Optimizer& optimizer,
                                                                 const OuterOptimizer& outer,
                                                                 int ranks) {
  auto moments = optimizer.moments();
  moments.emplace_back(kOuterMomentum, outer.momentum());
  for (int rank = 1; rank < ranks; ++rank) {
    for (const auto& [name, tensor] : optimizer.moments()) {
      moments.emplace_back(moment_name(name, rank), tensor);
    }
  }
  return moments;
}

std::vector<int> owners_of_moments(const Optimizer& optimizer, int ranks) {
  const auto moments = optimizer.moments().size();
  std::vector<int> owners(1 + moments + 1, 0);  // master weights, moments, outer momentum
  for (int rank = 1; rank < ranks; ++rank) {
    owners.insert(owners.end(), moments, rank);
  }
  return owners;
}

void load_outer_momentum(const std::string& checkpoint,
                         const FlatParameters& flat_parameters,
                         const OuterOptimizer& outer) {
  if (has_moment(checkpoint, kOuterMomentum)) {
    load_moments(checkpoint, flat_parameters, {{kOuterMomentum, outer.momentum()}});
  }
}

}  // namespace weft::train
