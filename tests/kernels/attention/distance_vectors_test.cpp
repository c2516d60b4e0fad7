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
  /// Queries with `memory` keys in front of those of their own tokens.
  void compare(const std::vector<int64_t>& lengths,
               int64_t width,
               const AttentionSettings& settings,
               int64_t reach,
               int64_t memory = 0) {
    const auto queries = layout_of(lengths);
    auto key_lengths = lengths;
    for (auto& length : key_lengths) {
      length += memory;
    }
    const auto keys = layout_of(key_lengths);
    const auto columns = settings.heads * width;
    const auto attend = [&, memory](const auto& operation, const auto& in, const auto& own) {
      if (memory == 0) {
        return operation(in[0], queries, own, kDistanceKey);
      }
      const auto halves = in[1].chunk(2, 1);
      return operation(AttentionInput{.query = in[0], .key = halves[0], .value = halves[1]},
                       queries, keys, own, kDistanceKey);
    };
    const auto of_vectors = [&] { return at::randn({2 * reach + 1, columns}) * 0.3; };
    const auto rows = rows_of(keys.max_length + 2, reach);
    for (const auto& [has_keys, has_queries] :
         {std::pair(true, true), {true, false}, {false, true}}) {
      const auto given = [&](const auto& in) {
        auto result = settings;
        result.query_bias = in[2];
        result.distance_vectors = {
            .keys = in[3], .queries = in[4], .query_bias = in[5], .rows = rows};
        return result;
      };
      comparison::expect_same(
          [&](const auto& in) {
            return attend([](const auto&... of) { return attention(of...); }, in, given(in));
          },
          [&](const auto& in) {
            return attend([](const auto&... of) { return reference::attention(of...); }, in,
                          given(in));
          },
          {at::randn({queries.tokens(), (memory == 0 ? 3 : 1) * columns}),
           memory == 0 ? at::Tensor() : at::randn({keys.tokens(), 2 * columns}),
           has_queries ? at::Tensor() : at::randn({columns}) * 0.3,
           has_keys ? of_vectors() : at::Tensor(), has_queries ? of_vectors() : at::Tensor(),
           has_keys ? at::randn({columns}) * 0.3 : at::Tensor()},
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

TEST_P(DistanceVectorAttention, ReachesAMemory) {
  compare({5, 1, 33}, 32, {.heads = 2, .is_causal = true}, 90, 40);
  compare({1, 2}, 16, {.heads = 3, .is_causal = true}, 20, 30);
  compare({50, 3}, 24, {.heads = 1, .is_causal = true, .dropout = 0.3}, 700, 600);
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

TEST(DistanceVectors, ThreadsChangeNoBit) {
  at::manual_seed(1);
  const auto layout = layout_of(std::vector<int64_t>(40, 100));
  const auto rows = rows_of(100, 30);
  const std::vector<at::Tensor> inputs{at::randn({layout.tokens(), 96}), at::randn({32}),
                                       at::randn({61, 32}), at::randn({32})};
  const auto run = [&] {
    return comparison::run(
        [&](const auto& in) {
          return attention(in[0], layout,
                           {.heads = 2,
                            .query_bias = in[1],
                            .distance_vectors = {.keys = in[2], .query_bias = in[3], .rows = rows}},
                           kDistanceKey);
        },
        inputs, at::kFloat);
  };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, run), comparison::with_threads(3, run)));
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
