#include "nn/convolution/input_convolution.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "config/section.h"
#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "nn/dropout_sites.h"
#include "nn/stack.h"
#include "support/config.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

using kernels::Activation;

constexpr int64_t kBesideDim = 8;

InputConvolution input_convolution_of(const InputConvolutionOptions& own, double dropout = 0) {
  InputConvolution made(own, {.dim = kBesideDim, .epsilon = 1e-5}, dropout);
  test::fill_parameters(made);
  return made;
}

at::Tensor beside_rows(int64_t tokens, double phase) {
  return (at::arange(tokens * kBesideDim, at::kFloat) * 1.3 + phase)
      .sin()
      .view({tokens, kBesideDim});
}

/// torch's convolution of the rows of one sequence.
at::Tensor torch_convolution(const at::Tensor& x,
                             const torch::nn::Module& module,
                             const InputConvolutionOptions& own) {
  const auto parameters = module.named_parameters();
  return at::conv1d(x.t().unsqueeze(0), parameters["weight"], parameters["bias"], 1, own.kernel / 2,
                    1, own.groups)
      .squeeze(0)
      .t();
}

at::Tensor norm_beside(const torch::nn::Module& module, const at::Tensor& x) {
  const auto parameters = module.named_parameters();
  return at::layer_norm(x, {kBesideDim}, parameters["norm.weight"], parameters["norm.bias"], 1e-5);
}

TEST(InputConvolution, IsThatOfEachSequence) {
  const auto context = test::context_of({0, 5, 5, 6, 8, 20});
  const auto& offsets = context.layout.offsets;
  const auto x = beside_rows(20, 0.1);
  const auto states = beside_rows(20, 2);
  for (const int64_t kernel : {1, 3, 7}) {
    for (const int64_t groups : {1, 2, 8}) {
      const InputConvolutionOptions own{.kernel = kernel, .groups = groups};
      const auto layer = input_convolution_of(own);
      const auto found = layer.forward(x, states, context, nullptr);
      for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
        if (offsets[b] == offsets[b + 1]) {
          continue;
        }
        const auto part = [&](const at::Tensor& y) {
          return y.slice(0, offsets[b], offsets[b + 1]);
        };
        const auto expected =
            norm_beside(layer, part(states) + torch_convolution(part(x), layer, own).tanh());
        EXPECT_TRUE(test::near(part(found), expected)) << kernel << ", " << groups << ", " << b;
      }
    }
  }
  const auto none = beside_rows(0, 0);
  EXPECT_EQ(input_convolution_of({}).forward(none, none, test::context_of({0}), nullptr).size(0),
            0);
}

TEST(InputConvolution, DropsBeforeTheActivation) {
  const InputConvolutionOptions own{.activation = Activation::kGelu};
  const auto layer = input_convolution_of(own, 0.5);
  auto context = test::context_of({0, 6});
  const auto x = beside_rows(6, 0.1);
  const auto convolved = torch_convolution(x, layer, own);
  EXPECT_TRUE(test::near(layer.forward(x, x, context, nullptr),
                         norm_beside(layer, x + at::gelu(convolved))));
  context.is_training = true;
  const auto key = context.rng_key(site_id(DropoutSite::kInputConvolution));
  const auto dropped = kernels::dropout(convolved.contiguous(), 0.5, key);
  EXPECT_TRUE(
      test::near(layer.forward(x, x, context, nullptr), norm_beside(layer, x + at::gelu(dropped))));
}

StackOptions convolved_stack(int64_t layers, double dropout = 0) {
  const BlockOptions block{.attention = {.dim = kBesideDim, .heads = 2, .dropout = dropout},
                           .feed_forward = {.dim = kBesideDim, .width = 12},
                           .norm = {.dim = kBesideDim, .epsilon = 1e-5},
                           .norm_placement = NormPlacement::kPost,
                           .dropout = dropout};
  StackOptions options;
  options.layers.assign(static_cast<std::size_t>(layers), block);
  options.input_convolution = {.kernel = 3, .groups = 2};
  return options;
}

TEST(InputConvolution, IsAddedToTheFirstLayerOfAStack) {
  StackImpl stack(convolved_stack(2));
  test::fill_parameters(stack);
  auto plain_options = convolved_stack(2);
  plain_options.input_convolution.reset();
  StackImpl plain(plain_options);
  {
    const at::NoGradGuard guard;
    for (auto& item : plain.named_parameters()) {
      item.value().copy_(stack.named_parameters()[item.key()]);
    }
  }
  const auto context = test::context_of({0, 3, 7});
  const auto x = beside_rows(7, 0.1);
  const auto shared = plain.with_shared_scores(context, x.device());
  const auto beside =
      std::dynamic_pointer_cast<InputConvolution>(stack.named_children()["input_convolution"]);
  const auto first = beside->forward(x, plain.forward_layer(0, x, shared), context, nullptr);
  EXPECT_TRUE(test::near(stack.forward(x, context), plain.forward_layer(1, first, shared)));
}

TEST(InputConvolution, SelectedRowsAreThoseOfAll) {
  for (const int64_t layers : {1, 2}) {
    StackImpl stack(convolved_stack(layers));
    test::fill_parameters(stack);
    const auto context = test::context_of({0, 3, 7});
    const auto x = beside_rows(7, 0.1);
    const auto rows = RowSelection::from_rows({1, 2, 5}, context, 0);
    EXPECT_TRUE(test::near(stack.forward_selected(x, context, rows),
                           rows.select(stack.forward(x, context))))
        << layers;
  }
}

TEST(InputConvolution, MicroBatchesDrawTheDropoutOfTheWholeStep) {
  StackImpl stack(convolved_stack(2, 0.4));
  test::fill_parameters(stack);
  const auto x = beside_rows(9, 0.1);
  auto whole = test::context_of({0, 4, 9});
  auto first = test::context_of({0, 4});
  auto second = test::context_of({0, 5});
  whole.is_training = first.is_training = second.is_training = true;
  second.first_row = 4;
  second.first_sequence = 1;
  EXPECT_TRUE(test::near(stack.forward(x, whole), at::cat({stack.forward(x.slice(0, 0, 4), first),
                                                           stack.forward(x.slice(0, 4), second)})));
}

TEST(InputConvolution, IsRefusedWhereItHasNoPlace) {
  auto options = convolved_stack(2);
  options.halting = HaltingOptions();
  EXPECT_EQ(test::message_of<config::Error>([&] { StackImpl{options}; }),
            "model.input_convolution: is not possible with halting");
  EXPECT_THROW(input_convolution_of({.kernel = 4}), c10::Error);
  EXPECT_THROW(input_convolution_of({.groups = 3}), c10::Error);
}

}  // namespace
}  // namespace weft::nn
