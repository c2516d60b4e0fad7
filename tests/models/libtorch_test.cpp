// Models of Weft inside plain LibTorch programs.
#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include "models/directory.h"
#include "support/context.h"
#include "tiny.h"

namespace weft::models {
namespace {

TEST(LibTorch, AnEncoderTrainsInsideASequentialWithItsOptimizer) {
  auto options = test::tiny_options(family_named("bert"));
  options.head = Head::kNone;
  auto encoder = make_model(options, 1);
  torch::nn::Sequential net(encoder, torch::nn::Linear(options.dim, 2));
  torch::optim::AdamW optimizer(net->parameters(), torch::optim::AdamWOptions(1e-2));
  const TextInput input{.ids = at::tensor({3, 4, 5, 6}, at::kLong)};
  const auto context = test::context_of({0, 2, 4});
  const auto labels = at::tensor({0, 1, 1, 0}, at::kLong);
  double first = 0;
  double last = 0;
  for (int64_t step = 0; step < 30; ++step) {
    optimizer.zero_grad();
    const auto loss = at::cross_entropy_loss(net->forward(input, context), labels);
    loss.backward();
    optimizer.step();
    last = loss.item<double>();
    first = step == 0 ? last : first;
  }
  EXPECT_LT(last, 0.3 * first);
}

TEST(LibTorch, ModulesAreNamedAndMoved) {
  auto options = test::tiny_options(family_named("bert"));
  const auto model = make_model(options, 1);
  const auto modules = model->named_modules();
  EXPECT_TRUE(modules.contains("layers.0.attention.qkv"));
  EXPECT_TRUE(modules.contains("embeddings.word"));
  model->to(at::kDouble);
  for (const auto& parameter : model->parameters()) {
    EXPECT_EQ(parameter.scalar_type(), at::kDouble);
  }
}

}  // namespace
}  // namespace weft::models
