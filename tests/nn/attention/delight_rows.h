// Units, rows and sums that the tests of DeLighT share.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/attention/delight.h"
#include "support/tensors.h"

namespace weft::nn {

using DelightSizes = std::vector<int64_t>;

inline constexpr int64_t kDelightDim = 16;

inline DextraOptions dextra_options(int64_t depth,
                                    int64_t groups,
                                    bool shuffles,
                                    double width = 2) {
  return {.dim = kDelightDim,
          .output = kDelightDim / 2,
          .width = width,
          .depth = depth,
          .groups = groups,
          .shuffles = shuffles};
}

/// In double precision.
template <class Module>
void fill_in_double(Module& module) {
  module.to(at::kDouble);
  test::fill_parameters(module, 0.5);
}

inline at::Tensor delight_rows(int64_t count) {
  return at::arange(count * kDelightDim, at::kDouble).mul(0.7).sin().view({count, kDelightDim});
}

/// x times the cosines of its indices, added up: for each row, or for all.
inline at::Tensor cosine_weighted(const at::Tensor& x) {
  return (x * at::arange(x.numel(), at::kDouble).cos().view_as(x)).sum();
}
inline at::Tensor cosine_weighted_rows(const at::Tensor& rows) {
  std::vector<at::Tensor> sums;
  for (int64_t i = 0; i < rows.size(0); ++i) {
    sums.push_back(cosine_weighted(rows[i]));
  }
  return at::stack(sums);
}

inline void expect_published(const at::Tensor& found, const std::vector<double>& expected) {
  EXPECT_TRUE(test::near(found.flatten(), at::tensor(expected, at::kDouble), 1e-8))
      << found.flatten() << at::tensor(expected, at::kDouble);
}

}  // namespace weft::nn
