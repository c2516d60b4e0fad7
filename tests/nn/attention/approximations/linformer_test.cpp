#include <cmath>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "nn/attention/attention_types.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

const LinformerOptions kOwnProjections{.landmarks = 3, .length = 9, .shares_projections = false};

// One sequence by equation 7 of arXiv:2006.04768.
at::Tensor linformer_by_hand(const at::Tensor& x, const torch::nn::Module& layer) {
  const auto parameters = layer.named_parameters();
  const auto qkv = at::linear(x, parameters["qkv.weight"], parameters["qkv.bias"]).chunk(3, 1);
  const auto* own = parameters.find("value_reducer.weight");
  const auto& e = parameters["key_reducer.weight"];
  const auto& f = own != nullptr ? *own : e;
  std::vector<at::Tensor> heads;
  for (int64_t head = 0; head < 2; ++head) {
    const auto of_head = [&](const at::Tensor& all) {
      return all.slice(1, 4 * head, 4 * head + 4);
    };
    const auto key = e.slice(1, 0, x.size(0)).mm(of_head(qkv[1]));    // (R, K)
    const auto value = f.slice(1, 0, x.size(0)).mm(of_head(qkv[2]));  // (R, K)
    heads.push_back((of_head(qkv[0]).mm(key.t()) / std::sqrt(4.0)).softmax(1).mm(value));
  }
  return at::linear(at::cat(heads, 1), parameters["output.weight"], parameters["output.bias"]);
}

TEST(Linformer, ReducesTheKeysOfEachSequence) {
  for (const bool shares : {false, true}) {
    auto linformer = kOwnProjections;
    linformer.shares_projections = shares;
    const auto layer = make_linformer_attention({.dim = 8, .heads = 2}, linformer);
    test::fill_parameters(*layer);
    const auto x = at::arange(8 * 15, at::kFloat).sin().view({15, 8}).requires_grad_();
    const auto y = layer->forward(x, test::context_of({0, 2, 11, 11, 12, 15}));
    const auto expected = at::cat(
        {linformer_by_hand(x.slice(0, 0, 2), *layer), linformer_by_hand(x.slice(0, 2, 11), *layer),
         linformer_by_hand(x.slice(0, 11, 12), *layer), linformer_by_hand(x.slice(0, 12), *layer)});
    EXPECT_TRUE(test::near(y, expected));
    auto inputs = layer->parameters();
    EXPECT_EQ(inputs.size(), shares ? 5U : 6U);
    inputs.push_back(x);
    const auto gradients_of = [&](const at::Tensor& out) {
      return torch::autograd::grad({(out * at::arange(120).cos().view_as(out)).sum()}, inputs);
    };
    const auto found = gradients_of(y);
    const auto wanted = gradients_of(expected);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(test::near(found[i], wanted[i], 1e-4)) << i;
    }
  }
}

TEST(Linformer, GradientsAgreeWithCentralDifferences) {
  const auto layer = make_linformer_attention({.dim = 4, .heads = 2}, kOwnProjections);
  test::fill_parameters(*layer);
  layer->to(at::kDouble);
  const auto context = test::context_of({0, 3, 4});
  const auto x = at::arange(16, at::kDouble).sin().view({4, 4});
  const auto loss = [&] {
    const auto y = layer->forward(x, context);
    return (y * at::arange(16, at::kDouble).cos().view_as(y)).sum();
  };
  loss().backward();
  const at::NoGradGuard guard;
  for (const auto& parameter : layer->named_parameters()) {
    const auto values = parameter.value().view(-1);
    for (int64_t i = 0; i < values.size(0); i += 5) {
      const auto shifted = [&](double by) {
        values[i] += by;
        const auto result = loss().item<double>();
        values[i] -= by;
        return result;
      };
      EXPECT_NEAR(parameter.value().grad().view(-1)[i].item<double>(),
                  (shifted(1e-5) - shifted(-1e-5)) / 2e-5, 1e-7)
          << parameter.key() << " " << i;
    }
  }
}

TEST(Linformer, RefusesWhatItCannotDo) {
  auto section = test::section("model.attention", {{"type", "linformer"}, {"length", "9"}});
  const auto make = read_linformer_attention(section);
  EXPECT_NE(test::message_of<config::Error>([&] {
              make({.dim = 8, .heads = 2, .is_causal = true});
            }).find("model.attention.type: found 'linformer' in a causal model"),
            std::string::npos);
  const auto layer = make({.dim = 8, .heads = 2});
  EXPECT_THROW(layer->forward(at::zeros({10, 8}), test::context_of({0, 10})), c10::Error);
  EXPECT_THROW(layer->weights(at::zeros({5, 8}), test::context_of({0, 5})), c10::Error);
}

}  // namespace
}  // namespace weft::nn
