// Attention, positions and feed-forward as the family `reformer` has them. Their values are those
// of transformers (scripts/parity/models.py).
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "nn/attention/approximations/sorted_hash_attention.h"
#include "nn/attention/patterns/sparse_pattern.h"
#include "nn/decoding_state.h"
#include "nn/feed_forward/feed_forward.h"
#include "nn/position/position_types.h"
#include "support/attention.h"
#include "support/components.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kHashedDim = 8;

AttentionOptions hashed_options(bool is_causal) {
  return {.dim = kHashedDim, .heads = 2, .is_causal = is_causal, .has_bias = false, .dropout = 0};
}

std::shared_ptr<Attention> hashed_layer(const SortedHashOptions& own, bool is_causal) {
  auto layer = make_sorted_hash_attention(hashed_options(is_causal), own);
  test::fill_parameters(*layer);
  return layer;
}

at::Tensor hashed_rows(int64_t count) {
  return (at::arange(count * kHashedDim, at::kDouble) * 1.7)
      .sin()
      .view({count, kHashedDim})
      .to(at::kFloat);
}

TEST(SortedHashAttention, TextsOfOneChunkHaveFullAttention) {
  const auto found = hashed_layer({.length = 9, .multiple = 9, .rounds = 2}, false);
  const auto expected = test::attention_layer("type: reformer, chunk: 9", hashed_options(false));
  const auto context = test::context_of({0, 1, 3, 9});
  // Keys are divided by their length, here with an epsilon under the root.
  EXPECT_TRUE(test::near(found->forward(hashed_rows(9), context),
                         expected->forward(hashed_rows(9), context), 1e-4));
}

TEST(SortedHashAttention, ATextDoesNotDependOnTheOthers) {
  for (const auto& seed : {std::optional<int64_t>(), std::optional<int64_t>(5)}) {
    for (const bool is_causal : {false, true}) {
      const auto layer = hashed_layer(
          {.length = 4, .multiple = 8, .buckets = {4}, .rounds = 2, .seed = seed}, is_causal);
      const auto x = hashed_rows(30);
      const std::vector<int64_t> offsets{0, 11, 12, 17, 30};
      const auto together = layer->forward(x, test::context_of(offsets));
      for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
        const auto length = offsets[b + 1] - offsets[b];
        const auto alone =
            layer->forward(x.narrow(0, offsets[b], length), test::context_of({0, length}));
        EXPECT_TRUE(test::near(together.narrow(0, offsets[b], length), alone, 1e-6)) << b;
      }
    }
  }
}

TEST(SortedHashAttention, RotationsFollowTheSeed) {
  const auto output = [](std::optional<int64_t> seed) {
    return hashed_layer({.length = 4, .multiple = 4, .buckets = {8}, .seed = seed}, false)
        ->forward(hashed_rows(40), test::context_of({0, 40}));
  };
  EXPECT_TRUE(at::equal(output(3), output(3)));
  EXPECT_FALSE(at::equal(output(3), output(4)));
}

TEST(SortedHashAttention, DecodesUpToOneChunk) {
  const auto layer = hashed_layer({.length = 6, .multiple = 6}, true);
  const at::NoGradGuard no_grad;
  const auto x = hashed_rows(7);
  const auto expected = layer->forward(x.narrow(0, 0, 6), test::context_of({0, 6}));
  DecodingState state(1);
  ForwardContext context;
  context.decoding_state = &state;
  for (int64_t token = 0; token < 6; ++token) {
    context.layout = state.begin_step({1}, at::kCPU);
    EXPECT_TRUE(
        test::near(layer->forward(x.narrow(0, token, 1), context), expected.narrow(0, token, 1)))
        << token;
  }
  context.layout = state.begin_step({1}, at::kCPU);
  EXPECT_NE(test::message_of<UserError>([&] {
              layer->forward(x.narrow(0, 6, 1), context);
            }).find("cannot continue a text of more than 6 tokens"),
            std::string::npos);
}

TEST(NeighbourChunks, TheLastChunkIsBesideTheFirst) {
  const auto pattern = make_neighbour_chunks({.length = 2, .before = 1, .after = 0, .multiple = 6});
  const auto keys = [&](int64_t length, int64_t position) {
    std::vector<KeyRange> found;
    pattern->add_keys({.queries = length, .keys = length}, 0, position, found);
    return found;
  };
  EXPECT_EQ(keys(6, 1), (std::vector<KeyRange>{{4, 6}, {0, 2}}));
  EXPECT_EQ(keys(3, 1), (std::vector<KeyRange>{{4, 6}, {0, 2}})) << "a chunk that is not there";
  EXPECT_EQ(keys(7, 1), (std::vector<KeyRange>{{10, 12}, {0, 2}}));
  EXPECT_EQ(keys(6, 5), (std::vector<KeyRange>{{2, 4}, {4, 6}}));
}

TEST(AxialPosition, HasTheVectorsOfRowAndColumn) {
  const auto position = axial_position({.shape = {3, 4}, .dims = {1, 2}})({.dim = 3, .length = 12});
  test::fill_parameters(*position->embedding);
  const auto parameters = position->embedding->named_parameters();
  const auto found = position->embedding->rows(test::context_of({0, 7, 9}).layout);
  const auto vectors = found.table.index_select(0, found.rows);
  ASSERT_EQ(vectors.sizes(), (std::vector<int64_t>{9, 3}));
  for (const auto& [row, place] : {std::pair{0, 0}, {3, 3}, {6, 6}, {8, 1}}) {
    const auto expected =
        at::cat({parameters["weights_0"][place / 4][0], parameters["weights_1"][0][place % 4]});
    EXPECT_TRUE(at::equal(vectors[row], expected)) << row;
  }
  EXPECT_THROW(position->embedding->rows(test::context_of({0, 13}).layout), c10::Error);
}

TEST(AxialPosition, ChecksItsSizes) {
  const auto message = [](const std::string& keys, const PositionOptions& options) {
    return test::message_of<config::Error>([&] {
      test::component(position_types(), "position", "type: axial, " + keys).make(options);
    });
  };
  EXPECT_NE(message("shape: [2, 3], dims: [4, 5]", {.dim = 8, .length = 6}).find("must add up"),
            std::string::npos);
  EXPECT_NE(message("shape: [2, 3], dims: [4, 4]", {.dim = 8, .length = 7}).find("at least"),
            std::string::npos);
  EXPECT_NE(message("shape: [6], dims: [8]", {.dim = 8, .length = 6}).find("two whole numbers"),
            std::string::npos);
}

TEST(ChunkedFeedForward, EqualsTheWhole) {
  const auto run = [](int64_t chunk) {
    auto layer = make_standard_feed_forward(
        {.dim = kHashedDim, .width = 12, .dropout = 0.3, .chunk = chunk});
    test::fill_parameters(*layer);
    auto context = test::context_of({0, 7});
    context.is_training = true;
    auto x = hashed_rows(7).requires_grad_();
    const auto y = layer->forward(x, context);
    (y * at::arange(y.numel()).cos().view_as(y)).sum().backward();
    std::vector<at::Tensor> result{y.detach(), x.grad()};
    for (const auto& item : layer->named_parameters()) {
      result.push_back(item.value().grad());
    }
    return result;
  };
  const auto expected = run(0);
  for (const int64_t chunk : {1, 3, 7}) {
    const auto found = run(chunk);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(test::near(found[i], expected[i], 1e-6)) << chunk << " " << i;
    }
  }
}

}  // namespace
}  // namespace weft::nn
