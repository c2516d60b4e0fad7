#include "train/distributed/pieces.h"

#include <cstddef>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/string_util.h"

namespace weft::train {
namespace {

TEST(Pieces, CoverTheSliceAndDivideByTheRanks) {
  const auto slice = at::arange(3'000'000, at::kFloat);
  const auto pieces = pieces_of(slice, 3);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0].numel(), 1'048'575);  // 4 MiB are 1,048,576 numbers
  EXPECT_EQ(pieces[2].numel(), 3'000'000 - 2 * 1'048'575);
  EXPECT_TRUE(at::cat(pieces).equal(slice));
  EXPECT_TRUE(pieces_of(at::zeros({0}), 3).empty());
}

// 2^24 + 1 is not a float: the order of the additions matters.
TEST(Pieces, OrderedSumAddsFromTheFirstRow) {
  const auto rows = at::tensor({16777216.0F, 1.0F, 1.0F}).view({3, 1});
  EXPECT_EQ(ordered_sum(rows.clone()).item<float>(), 16777216.0F);
  EXPECT_EQ(ordered_sum(rows.flip(0)).item<float>(), 16777218.0F);
}

// In bf16, 256 + 1 is 256.
TEST(Pieces, OrderedSumOfShortTypesIsInFloat) {
  const auto rows = at::tensor({256.0F, 1.0F, 1.0F}).to(at::kBFloat16).view({3, 1});
  EXPECT_EQ(ordered_sum(rows).item<float>(), 258.0F);
}

TEST(Pieces, PipelineKeepsItemsInFlight) {
  std::vector<std::string> calls;
  const auto note = [&](const char* name) {
    return [&calls, name](std::size_t item) { calls.push_back(str_cat(name, item)); };
  };
  pipeline(5, note("s"), note("m"), note("f"));
  EXPECT_EQ(join(calls, " "), "s0 s1 s2 s3 s4 m0 m1 m2 m3 m4 f0 f1 f2 f3 f4");
  calls.clear();
  pipeline(9, note("s"), note("m"), note("f"));
  EXPECT_EQ(join(calls, " "),
            "s0 s1 s2 s3 s4 m0 s5 m1 s6 m2 s7 m3 s8 m4 f0 m5 f1 m6 f2 m7 f3 m8 f4 f5 f6 f7 f8");
}

}  // namespace
}  // namespace weft::train
