#include "inference/nearest_tokens.h"

#include <cmath>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace weft::inference {
namespace {

at::Tensor planted() {
  return at::tensor({1.0F, 0.0F,    // 0
                     10.0F, 1.0F,   // 1: almost the direction of 0, far away
                     0.5F, 0.5F,    // 2: near 0
                     -1.0F, 0.0F,   // 3: opposite
                     10.0F, 1.0F})  // 4: as 1
      .view({5, 2});
}

std::vector<int64_t> ids_of(const std::vector<Neighbor>& neighbors) {
  std::vector<int64_t> ids;
  for (const auto& neighbor : neighbors) {
    ids.push_back(neighbor.id);
  }
  return ids;
}

TEST(NearestTokens, FindsPlantedNeighbors) {
  const auto cosine = nearest_tokens(planted(), 0, 3, Similarity::kCosine);
  EXPECT_EQ(ids_of(cosine), (std::vector<int64_t>{1, 4, 2}));
  EXPECT_NEAR(cosine[0].value, 10 / std::sqrt(101.0), 1e-6);
  const auto euclidean = nearest_tokens(planted(), 0, 9, Similarity::kEuclidean);
  EXPECT_EQ(ids_of(euclidean), (std::vector<int64_t>{2, 3, 1, 4}));
  EXPECT_NEAR(euclidean[1].value, 2, 1e-6);
}

}  // namespace
}  // namespace weft::inference
