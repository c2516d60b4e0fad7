#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "nn/position/position_types.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kConvolutionalDim = 8;

std::shared_ptr<EmbeddingTransform> convolution_with(
    const std::vector<std::pair<std::string, std::string>>& keys) {
  auto section = test::section("model.position", keys);
  const auto position =
      position_types().at("convolutional").read(section)({.dim = kConvolutionalDim});
  test::fill_parameters(*position->transform);
  return position->transform;
}

at::Tensor convolutional_tokens(int64_t count) {
  return at::arange(count * kConvolutionalDim, at::kFloat)
      .mul(1.7)
      .sin()
      .view({count, kConvolutionalDim});
}

/// torch's convolution of one sequence, with k / 2 zeros on both sides and the last row of an even
/// kernel left out, as in wav2vec 2.0.
at::Tensor convolved(const at::Tensor& x, const torch::nn::Module& module, int64_t groups) {
  const auto parameters = module.named_parameters();
  auto weight = parameters["weight"];
  weight = weight.dim() == 2 ? weight.unsqueeze(1) : weight;
  return at::conv1d(x.t().unsqueeze(0), weight, parameters["bias"], 1, weight.size(2) / 2, 1,
                    groups)
      .squeeze(0)
      .t()
      .slice(0, 0, x.size(0));
}

TEST(ConvolutionalPositions, AreThoseOfTheirFormula) {
  const auto layout = test::context_of({0, 5, 6, 26}).layout;
  const auto x = convolutional_tokens(26);
  for (const std::string kernel : {"4", "5", "128"}) {
    const auto grouped = convolution_with({{"groups", "2"}, {"kernel_size", kernel}});
    const auto depthwise = convolution_with({{"form", "depthwise"}, {"kernel_size", kernel}});
    const auto found = grouped->forward(x, layout);
    const auto of_features = depthwise->forward(x, layout);
    for (std::size_t b = 0; b + 1 < layout.offsets.size(); ++b) {
      const auto own = x.slice(0, layout.offsets[b], layout.offsets[b + 1]);
      const auto part = [&](const at::Tensor& y) {
        return y.slice(0, layout.offsets[b], layout.offsets[b + 1]);
      };
      EXPECT_TRUE(test::near(part(found), own + at::gelu(convolved(own, *grouped, 2)))) << kernel;
      EXPECT_TRUE(
          test::near(part(of_features), own + convolved(own, *depthwise, kConvolutionalDim)))
          << kernel;
    }
  }
}

TEST(ConvolutionalPositions, ZeroKernelsAreNone) {
  for (const std::string form : {"grouped", "depthwise"}) {
    const auto layer = convolution_with({{"form", form}, {"groups", "2"}});
    const at::NoGradGuard guard;
    for (auto& parameter : layer->parameters()) {
      parameter.zero_();
    }
    const auto x = convolutional_tokens(9);
    EXPECT_TRUE(at::equal(layer->forward(x, test::context_of({0, 9}).layout), x)) << form;
  }
}

TEST(ConvolutionalPositions, GradientsDoNotDependOnThreads) {
  const auto gradients = [](const std::string& form, int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    const auto layer = convolution_with({{"form", form}, {"groups", "2"}, {"kernel_size", "3"}});
    const auto x = convolutional_tokens(3000);
    layer->forward(x, test::context_of({0, 1000, 3000}).layout).sin().sum().backward();
    at::set_num_threads(before);
    std::vector<at::Tensor> result;
    for (const auto& parameter : layer->parameters()) {
      result.push_back(parameter.grad());
    }
    return result;
  };
  for (const std::string form : {"grouped", "depthwise"}) {
    const auto expected = gradients(form, 1);
    for (const int threads : {2, 5}) {
      const auto found = gradients(form, threads);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(at::equal(found[i], expected[i])) << form << ", " << threads << " threads";
      }
    }
  }
}

TEST(ConvolutionalPositions, AreRefusedWhereTheyDoNotFit) {
  auto section = test::section("model.position", {{"groups", "3"}});
  const auto make = position_types().at("convolutional").read(section);
  EXPECT_THROW(make({.dim = kConvolutionalDim}), config::Error);
  EXPECT_THROW(make({.dim = 9, .is_causal = true}), config::Error);
  EXPECT_NO_THROW(make({.dim = 9}));
}

}  // namespace
}  // namespace weft::nn
