#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/compare.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using comparison::layout_of;

constexpr RngKey kDistanceKey{
    .seed = 5, .step = 2, .site = 1, .first_row = 0, .first_sequence = 11};

/// Distances up to `reach` have rows of their own; those beyond share the last.
std::shared_ptr<const std::vector<int32_t>> rows_of(int64_t longest, int64_t reach) {
  auto rows = std::make_shared<std::vector<int32_t>>();
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    rows->push_back(static_cast<int32_t>(std::clamp(distance, -reach, reach) + reach));
  }
  return rows;
}

class DistanceVectorAttention : public comparison::EveryVariant {
 protected:
  void compare(const std::vector<int64_t>& lengths,
               int64_t width,
               const AttentionSettings& settings,
               int64_t reach) {
    const auto layout = layout_of(lengths);
    const auto columns = settings.heads * width;
    const std::vector<at::Tensor> inputs{at::randn({layout.tokens(), 3 * columns}),
                                         at::randn({2 * reach + 1, columns}) * 0.3,
                                         at::randn({2 * reach + 1, columns}) * 0.3};
    const auto rows = rows_of(layout.max_length + 2, reach);
    for (const auto& [has_keys, has_queries] :
         {std::pair(true, true), {true, false}, {false, true}}) {
      const auto given = [&, keys = has_keys, queries = has_queries](const auto& in) {
        auto result = settings;
        result.distance_vectors = {.keys = keys ? in[1] : at::Tensor(),
                                   .queries = queries ? in[2] : at::Tensor(),
                                   .rows = rows};
        return result;
      };
      comparison::expect_same(
          [&](const auto& in) { return attention(in[0], layout, given(in), kDistanceKey); },
          [&](const auto& in) {
            return reference::attention(in[0], layout, given(in), kDistanceKey);
          },
          {inputs[0], has_keys ? inputs[1] : at::Tensor(), has_queries ? inputs[2] : at::Tensor()},
          type());
    }
  }
};

TEST_P(DistanceVectorAttention, EqualsPlainReference) {
  compare({5, 1, 33, 70}, 32, {.heads = 2}, 90);
  compare({5, 1, 33, 70}, 16, {.heads = 3, .dropout = 0.3}, 20);
  compare({600, 3}, 24, {.heads = 1, .scale = 0.2}, 7);
  compare({20, 41}, 32, {.heads = 2, .is_causal = true, .window_radius = 9}, 12);
}

INSTANTIATE_TEST_SUITE_P(Levels,
                         DistanceVectorAttention,
                         comparison::kVariants,
                         comparison::variant_name);

/// arXiv:2006.03654, equation 4, score by score.
TEST(DistanceVectors, ScoresAreThoseOfTheFormula) {
  at::manual_seed(1);
  constexpr int64_t kLength = 6;
  constexpr int64_t kReach = 3;
  const auto qkv = at::randn({kLength, 3 * 8});
  const auto keys = at::randn({2 * kReach + 1, 8});
  const auto queries = at::randn({2 * kReach + 1, 8});
  auto scores = at::zeros({kLength, kLength});
  for (int64_t i = 0; i < kLength; ++i) {
    for (int64_t j = 0; j < kLength; ++j) {
      const auto row = std::clamp(j - i, -kReach, kReach) + kReach;
      const auto q = qkv[i].slice(0, 0, 8);
      const auto k = qkv[j].slice(0, 8, 16);
      scores[i][j] = (q.dot(k) + q.dot(keys[row]) + k.dot(queries[row])) / std::sqrt(3 * 8);
    }
  }
  const auto expected = at::matmul(at::softmax(scores, -1), qkv.slice(1, 16, 24));
  const AttentionSettings settings{
      .heads = 1,
      .scale = 1 / std::sqrt(3.0 * 8),
      .distance_vectors = {.keys = keys, .queries = queries, .rows = rows_of(kLength, kReach)}};
  EXPECT_TRUE(
      at::allclose(attention(qkv, layout_of({kLength}), settings, {}), expected, 1e-5, 1e-5));
}

TEST(DistanceVectors, NeedARowForEachDistance) {
  const auto vectors = at::ones({3, 16});
  const auto layout = layout_of({5});
  const auto with = [&](int64_t longest) {
    return AttentionSettings{.heads = 2,
                             .distance_vectors = {.keys = vectors, .rows = rows_of(longest, 1)}};
  };
  EXPECT_NO_THROW(attention(at::ones({5, 48}), layout, with(5), {}));
  EXPECT_THROW(attention(at::ones({5, 48}), layout, with(4), {}), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
