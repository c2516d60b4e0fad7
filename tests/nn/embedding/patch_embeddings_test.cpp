#include "nn/embedding/patch_embeddings.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/row_selection.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

TEST(PatchEmbeddings, PutsItsTokensBeforeThePatches) {
  PatchEmbeddingsImpl embeddings(
      {.dim = 2, .patch_width = 1, .grid = 1, .has_distillation_token = true});
  test::set_parameters(
      embeddings,
      {{"class_token", at::tensor({1.0F, 2.0F}).view({1, 1, 2})},
       {"distillation_token", at::tensor({3.0F, 4.0F}).view({1, 1, 2})},
       {"position", at::tensor({10.0F, 10.0F, 20.0F, 20.0F, 30.0F, 30.0F}).view({1, 3, 2})},
       {"projection.weight", at::tensor({1.0F, -1.0F}).view({2, 1})},
       {"projection.bias", at::tensor({0.0F, 0.5F})}});
  const auto x = embeddings.forward({.patches = at::tensor({5.0F, 7.0F}).view({2, 1}),
                                     .is_masked = {},
                                     .grids = {{1, 1}, {1, 1}}},
                                    test::context_of({0, 3, 6}));
  EXPECT_TRUE(test::near(x, at::tensor({11.0F, 12.0F, 23.0F, 24.0F, 35.0F, 25.5F,  //
                                        11.0F, 12.0F, 23.0F, 24.0F, 37.0F, 23.5F})
                                .view({6, 2})));
}

TEST(PatchEmbeddings, OtherGridsInterpolateTheirPositions) {
  const auto table = at::arange(9 * 4, at::kFloat).view({1, 9, 4}).sin();
  const auto same = interpolate_positions(table, 0, {3, 3});
  EXPECT_TRUE(same.is_same(table));
  const auto wide = interpolate_positions(table, 0, {3, 6});
  EXPECT_EQ(wide.sizes(), (at::IntArrayRef{1, 18, 4}));
  const auto square = table.view({1, 3, 3, 4}).permute({0, 3, 1, 2});
  const auto expected = at::upsample_bicubic2d(square, {3, 6}, false);
  EXPECT_TRUE(test::near(wide, expected.permute({0, 2, 3, 1}).reshape({1, 18, 4})));
  const auto own = at::cat({at::full({1, 1, 4}, 5.0), table}, 1);
  EXPECT_TRUE(
      test::near(interpolate_positions(own, 1, {2, 2}).select(1, 0), at::full({1, 4}, 5.0)));
}

/// A batch of mixed sizes equals separate forward passes of the images.
TEST(PatchEmbeddings, MixedSizesAreAsEachAlone) {
  PatchEmbeddingsImpl embeddings({.dim = 4, .patch_width = 3, .grid = 2, .has_mask_token = true});
  test::fill_parameters(embeddings);
  const auto patches = at::arange(13 * 3, at::kFloat).view({13, 3}).cos();
  const auto hidden = at::arange(13).remainder(3).eq(0);
  const std::vector<PatchGrid> grids = {{2, 2}, {3, 1}, {2, 3}};
  const auto together = embeddings.forward(
      {.patches = patches, .is_masked = hidden, .grids = grids}, test::context_of({0, 5, 9, 16}));
  int64_t first = 0;
  int64_t row = 0;
  for (const auto& grid : grids) {
    const int64_t count = grid.rows * grid.columns;
    const auto alone = embeddings.forward({.patches = patches.narrow(0, first, count),
                                           .is_masked = hidden.narrow(0, first, count),
                                           .grids = {grid}},
                                          test::context_of({0, count + 1}));
    EXPECT_TRUE(test::near(together.narrow(0, row, count + 1), alone, 0));
    first += count;
    row += count + 1;
  }
}

}  // namespace
}  // namespace weft::nn
