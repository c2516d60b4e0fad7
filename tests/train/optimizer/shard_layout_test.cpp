#include "train/optimizer/shard_layout.h"

#include <algorithm>
#include <numeric>

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "kernels/optimizer.h"

namespace weft::train {
namespace {

using kernels::kSumBlock;

ShardLayout layout_of(int rank, int ranks, Sharding sharding = Sharding::kOptimizer) {
  return {{{.range = {.begin = 0, .count = 10 * kSumBlock}, .unit = 0},
           {.range = {.begin = 10 * kSumBlock, .count = 3'000'000}, .unit = 1},
           {.range = {.begin = 3000 * kSumBlock, .count = 5}, .unit = 0, .is_trained = false}},
          {"", "layers.0"},
          {.sharding = sharding, .rank = rank, .ranks = ranks}};
}

TEST(ShardLayout, EveryElementHasOneOwner) {
  for (const int ranks : {1, 2, 3, 7}) {
    std::vector<FlatRange> owned;
    int64_t size = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto layout = layout_of(rank, ranks);
      int64_t own = 0;
      for (const auto& each : layout.owned()) {
        owned.push_back(each.range);
        EXPECT_EQ(each.begin, own);  // one after the other
        EXPECT_EQ(layout.own_position(each.range.begin), own);
        EXPECT_EQ(each.range.begin % kSumBlock, 0);
        own += each.range.count;
      }
      EXPECT_EQ(layout.owned_size(), own);
      size += own;
    }
    std::sort(owned.begin(), owned.end(),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < owned.size(); ++i) {
      EXPECT_LE(owned[i - 1].end(), owned[i].begin);
    }
    EXPECT_EQ(size, 10 * kSumBlock + 3'000'000 + 5) << ranks;
  }
}

TEST(ShardLayout, RanksOwnAboutEqualPartsOfEachUnit) {
  for (const int ranks : {2, 3, 7}) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto layout = layout_of(rank, ranks);
      EXPECT_NEAR(static_cast<double>(layout.owned_size()),
                  (10.0 * kSumBlock + 3'000'005.0) / ranks, 5.0 * kSumBlock);
      EXPECT_LE(layout.owned_trained_size(), layout.owned_size());
    }
  }
}

TEST(ShardLayout, WithoutShardingARankOwnsAll) {
  const auto layout = layout_of(1, 3, Sharding::kNone);
  EXPECT_FALSE(layout.is_sharded());
  EXPECT_EQ(layout.owned_size(), 10 * kSumBlock + 3'000'000 + 5);
  EXPECT_EQ(layout.owned_trained_size(), 10 * kSumBlock + 3'000'000);
}

TEST(ShardLayout, PiecesCoverTheirRangeAndPartsThePiece) {
  for (const int ranks : {1, 2, 3, 7}) {
    const auto layout = layout_of(0, ranks);
    for (const auto& each : layout.ranges()) {
      int64_t end = each.range.begin;
      for (const auto& piece : each.pieces) {
        EXPECT_EQ(piece.range.begin, end);
        EXPECT_EQ(piece.part % kSumBlock, 0);
        EXPECT_LE(piece.range.count, int64_t{1 << 20} + ranks * kSumBlock);
        end = piece.range.end();
        int64_t owned = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          owned += piece.owned(rank).count;
        }
        EXPECT_EQ(owned, piece.range.count);
      }
      EXPECT_EQ(end, each.range.end());
    }
  }
}

TEST(ShardLayout, RefusesElementsOfOtherRanks) {
  const auto layout = layout_of(0, 2);
  const auto other = layout.owned(1).front().range.begin;
  EXPECT_THROW(layout.own_position(other), c10::Error);
  EXPECT_EQ(layout.range_at(other), 0U);
  EXPECT_EQ(layout.range_at(10 * kSumBlock), 1U);
}

TEST(ShardLayout, UnitsAreLayers) {
  EXPECT_EQ(unit_of("layers.3.attention.query.weight"), "layers.3");
  EXPECT_EQ(unit_of("decoder_layers.12.norm.bias"), "decoder_layers.12");
  EXPECT_EQ(unit_of("generator.layers.0.norm.bias"), "generator.layers.0");
  EXPECT_EQ(unit_of("layers.norm.weight"), "");
  EXPECT_EQ(unit_of("layers.relative_bias.weight"), "");
  EXPECT_EQ(unit_of("players.3.weight"), "");
  EXPECT_EQ(unit_of("embeddings.word"), "");
}

}  // namespace
}  // namespace weft::train
