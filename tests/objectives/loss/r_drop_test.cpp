#include "objectives/loss/r_drop.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "batching/device_batch.h"
#include "objectives/batches.h"
#include "objectives/evaluation/eval_prediction.h"
#include "objectives/objectives.h"

namespace weft::objectives {
namespace {

// p = (3/4, 1/4), q = (1/4, 3/4): each KL is 1/2 log 3.
TEST(RDrop, DivergenceOfClassesMatchesTheManualComputation) {
  const float ln3 = std::log(3.0F);
  const auto first = at::tensor({ln3, 0.0F, 1.0F, 2.0F}).view({2, 2});
  const auto second = at::tensor({0.0F, ln3, 5.0F, 6.0F}).view({2, 2});
  const auto rows = symmetric_kl(first, second);
  EXPECT_NEAR(rows[0].item<float>(), 0.5F * ln3, 1e-6F);
  EXPECT_NEAR(rows[1].item<float>(), 0.0F, 1e-6F);  // the same distribution, shifted
}

TEST(RDrop, DivergenceOfAFlagIsThatOfItsTwoClasses) {
  const auto first = at::tensor({0.3F, -1.2F}).view({2, 1});
  const auto second = at::tensor({-0.5F, 2.0F}).view({2, 1});
  const auto zero = at::zeros({2, 1});
  const auto classes = symmetric_kl(at::cat({zero, first}, 1), at::cat({zero, second}, 1));
  EXPECT_TRUE(at::allclose(bernoulli_kl(first, second).squeeze(1), classes, 1e-5, 1e-6));
}

TEST(RDrop, SecondDrawDiffersAndIsAPureFunction) {
  nn::ForwardContext context;
  context.seed = 7;
  context.step = 3;
  context.first_row = 11;
  const auto second = second_dropout_context(context);
  EXPECT_NE(second.seed, context.seed);
  EXPECT_EQ(second.seed, second_dropout_context(context).seed);
  EXPECT_EQ(second.step, context.step);
  EXPECT_EQ(second.first_row, context.first_row);
}

// The loss of a training pass by its formula, from the outputs of both passes.
TEST(RDrop, LossIsTheMeanOfBothPassesAndWhatTheyDifferBy) {
  auto context = batching::to_device(test::batch_of({1, 2, 3, 4}), at::kCPU).context;
  context.is_training = true;
  context.seed = 5;
  for (const bool is_regression : {false, true}) {
    const auto batch =
        is_regression ? test::regression_batch_of({1, 2, 3, 4}) : test::batch_of({1, 2, 3, 4});
    const auto made = [&](double r_drop) {
      return is_regression ? make_regress(r_drop) : make_classify({.r_drop = r_drop});
    };
    const auto plain = made(0);
    const auto objective = made(0.7);
    auto shape = test::tiny_model(objective->head({}));
    shape.is_regression = is_regression;
    shape.labels.resize(shape.is_regression ? 0 : 3);
    const auto model = models::make_model(shape, 3);

    const auto first = sequence_outputs(*model, batch, context);
    const auto second = sequence_outputs(*model, batch, second_dropout_context(context));
    const auto gap =
        shape.is_regression ? (first - second).square().sum() : symmetric_kl(first, second).sum();
    const double own = plain->losses(*model, batch, context)[0].item<double>();
    const double other =
        plain->losses(*model, batch, second_dropout_context(context))[0].item<double>();
    EXPECT_GT(gap.item<double>(), 0);
    EXPECT_NEAR(objective->losses(*model, batch, context)[0].item<double>(),
                (own + other) / 2 + 0.7 * gap.item<double>(), 1e-5);
    context.is_training = false;
    EXPECT_EQ(objective->losses(*model, batch, context)[0].item<double>(),
              plain->losses(*model, batch, context)[0].item<double>());
    context.is_training = true;
  }
}

}  // namespace
}  // namespace weft::objectives
