#include "kernels/attention/edge_attention.h"

#include <memory>
#include <vector>

#include "kernels/compare.h"
#include "kernels/flop_counter.h"

namespace weft::kernels {
namespace {

using comparison::layout_of;

constexpr int64_t kKinds = 5;
constexpr RngKey kEdgeKey{.seed = 5, .step = 2, .site = 1, .first_row = 0, .first_sequence = 11};

/// One to 40 edges for each query, to keys of its sequence in any order, some of them twice.
std::shared_ptr<const AttentionEdges> random_edges(const Layout& queries, const Layout& keys) {
  auto edges = std::make_shared<AttentionEdges>();
  for (int64_t b = 0; b < queries.sequences(); ++b) {
    for (int64_t i = 0; i < queries.length(b); ++i) {
      const auto count = at::randint(1, 41, {1}).item<int64_t>();
      for (int64_t e = 0; e < count; ++e) {
        const auto key = at::randint(keys.length(b), {1}).item<int64_t>();
        edges->keys.push_back(
            static_cast<int32_t>(keys.offsets[static_cast<std::size_t>(b)] + key));
        edges->kinds.push_back(at::randint(kKinds, {1}).item<int32_t>());
      }
      edges->begins.push_back(std::ssize(edges->keys));
    }
  }
  return edges;
}

class EdgeAttention : public comparison::EveryVariant {
 protected:
  /// With vectors of edges and without.
  void compare(const std::vector<int64_t>& query_lengths,
               const std::vector<int64_t>& key_lengths,
               const AttentionSettings& settings,
               int64_t width) {
    const auto queries = layout_of(query_lengths);
    const auto keys = layout_of(key_lengths);
    const auto edges = random_edges(queries, keys);
    const auto key_heads = settings.key_heads_or_heads();
    for (const bool has_vectors : {true, false}) {
      std::vector<at::Tensor> inputs{at::randn({queries.tokens(), settings.heads * width}),
                                     at::randn({keys.tokens(), 2 * key_heads * width})};
      if (has_vectors) {
        inputs.push_back(at::randn({kKinds, width}));
      }
      const auto input = [&](const auto& in) {
        const auto halves = in[1].chunk(2, 1);  // strided
        return AttentionInput{.query = in[0], .key = halves[0], .value = halves[1]};
      };
      const auto vectors = [&](const auto& in) { return has_vectors ? in[2] : at::Tensor(); };
      comparison::expect_same(
          [&](const auto& in) {
            return edge_attention(input(in), queries, edges, vectors(in), settings, kEdgeKey);
          },
          [&](const auto& in) {
            return reference::edge_attention(input(in), queries, *edges, vectors(in), settings,
                                             kEdgeKey);
          },
          inputs, type());
    }
  }
};

TEST_P(EdgeAttention, EqualsPlainReference) {
  compare({5, 1, 0, 33, 70}, {17, 64, 4, 3, 90}, {.heads = 2}, 32);
  compare({5, 1, 33, 70}, {17, 64, 3, 90}, {.heads = 4, .key_heads = 2, .dropout = 0.3}, 16);
  compare({60, 3}, {700, 40}, {.heads = 1, .scale = 0.3, .dropout = 0.1}, 23);
}

INSTANTIATE_TEST_SUITE_P(Levels, EdgeAttention, comparison::kVariants, comparison::variant_name);

/// Edges to all keys are attention to all keys.
TEST(EdgeAttention, ToAllKeysIsFull) {
  at::manual_seed(1);
  const auto queries = layout_of({9, 4});
  const auto keys = layout_of({20, 3});
  auto edges = std::make_shared<AttentionEdges>();
  for (int64_t b = 0; b < 2; ++b) {
    const auto i = static_cast<std::size_t>(b);
    for (int64_t query = 0; query < queries.length(b); ++query) {
      for (auto key = keys.offsets[i]; key < keys.offsets[i + 1]; ++key) {
        edges->keys.push_back(static_cast<int32_t>(key));
        edges->kinds.push_back(0);
      }
      edges->begins.push_back(std::ssize(edges->keys));
    }
  }
  const AttentionInput input{
      .query = at::randn({13, 32}), .key = at::randn({23, 32}), .value = at::randn({23, 32})};
  const AttentionSettings settings{.heads = 2};
  const auto full = attention(input, queries, keys, settings, {});
  EXPECT_TRUE(at::allclose(edge_attention(input, queries, edges, {}, settings, {}), full, 0, 1e-5));
  FlopCounter counter;
  edge_attention(input, queries, edges, {}, settings, {});
  EXPECT_EQ(counter.flops(), 2 * 2 * 32 * (9 * 20 + 4 * 3));
}

TEST(EdgeAttention, DoesNotDependOnTheNumberOfThreads) {
  at::manual_seed(1);
  const auto layout = layout_of({30, 50, 11});
  const auto edges = random_edges(layout, layout);
  const std::vector<at::Tensor> inputs{at::randn({91, 64}), at::randn({91, 64}),
                                       at::randn({91, 64}), at::randn({kKinds, 16})};
  const auto run = [&] {
    return comparison::run(
        [&](const auto& in) {
          return edge_attention({.query = in[0], .key = in[1], .value = in[2]}, layout, edges,
                                in[3], {.heads = 4, .dropout = 0.2}, kEdgeKey);
        },
        inputs, at::kFloat);
  };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, run), comparison::with_threads(3, run)));
}

}  // namespace
}  // namespace weft::kernels
