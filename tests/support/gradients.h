#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace weft::test {

/// The gradients of a scalar function with respect to these leaves, in double precision, are its
/// central differences: for each `every`-th element.
inline void expect_gradients_of_differences(const std::function<at::Tensor()>& value,
                                            const std::vector<at::Tensor>& leaves,
                                            int64_t every,
                                            double tolerance) {
  const auto gradients = torch::autograd::grad({value()}, leaves);
  const at::NoGradGuard guard;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    for (int64_t i = 0; i < leaves[leaf].numel(); i += every) {
      auto element = leaves[leaf].view(-1)[i];
      const double step = 1e-6;
      const auto before = element.item<double>();
      element.fill_(before + step);
      const auto above = value().item<double>();
      element.fill_(before - step);
      const auto below = value().item<double>();
      element.fill_(before);
      EXPECT_NEAR(gradients[leaf].view(-1)[i].item<double>(), (above - below) / (2 * step),
                  tolerance)
          << leaf;
    }
  }
}

}  // namespace weft::test
