#include "objectives/loss/class_loss.h"

#include <cmath>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "batching/device_batch.h"
#include "kernels/to_device.h"
#include "objectives/batches.h"
#include "objectives/objectives.h"
#include "support/config.h"

namespace weft::objectives {
namespace {

at::Tensor logits() {
  return at::tensor({0.5, -1.0, 2.0, 1.5, 0.0, -0.5, -2.0, 3.0, 0.25}, at::kFloat).view({3, 3});
}
at::Tensor labels() { return at::tensor({2, 0, 0}, at::kLong); }
at::Tensor flags() {
  return at::tensor({1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0}, at::kFloat).view({3, 3});
}

TEST(ClassLoss, WeightsAndSmoothingAreThoseOfTorch) {
  const std::vector<double> weights = {0.5, 1, 4};
  const auto tensor = kernels::to_device(weights, at::kCPU);
  for (const double smoothing : {0.0, 0.3}) {
    const auto expected =
        at::cross_entropy_loss(logits(), labels(), tensor, at::Reduction::Sum, -100, smoothing);
    const auto found =
        class_loss_sum(logits(), labels(), {.smoothing = smoothing, .weights = weights});
    EXPECT_NEAR(found.item<double>(), expected.item<double>(), 1e-5);
  }
}

TEST(ClassLoss, FocalLossDownweightsEasyExamples) {
  const auto shares = at::softmax(logits(), 1);
  double expected = 0;
  for (int64_t row = 0; row < 3; ++row) {
    const double p = shares[row][labels()[row].item<int64_t>()].item<double>();
    expected -= std::pow(1 - p, 2.0) * std::log(p);
  }
  EXPECT_NEAR(class_loss_sum(logits(), labels(), {.focal_gamma = 2}).item<double>(), expected,
              1e-5);
  const auto weighted =
      class_loss_sum(logits(), labels(), {.focal_gamma = 2, .weights = {3, 3, 3}});
  EXPECT_NEAR(weighted.item<double>(), 3 * expected, 1e-4);
}

TEST(ClassLoss, FocalLossIsFiniteForCertainPredictions) {
  for (const double gamma : {0.5, 1.0, 2.0}) {
    auto sure = at::tensor({100.0, -100.0}, at::kFloat).view({1, 2}).set_requires_grad(true);
    class_loss_sum(sure, at::tensor({0}, at::kLong), {.focal_gamma = gamma}).backward();
    EXPECT_TRUE(sure.grad().isfinite().all().item<bool>()) << gamma;
  }
}

at::Tensor soft_targets() {
  return at::tensor({0.7, 0.0, 0.3, 1.0, 0.0, 0.0, 0.2, 0.5, 0.3}, at::kFloat).view({3, 3});
}

TEST(SoftTargetLoss, WeightsAndSmoothingAreThoseOfTorch) {
  const std::vector<double> weights = {0.5, 1, 4};
  const auto tensor = kernels::to_device(weights, at::kCPU);
  for (const double smoothing : {0.0, 0.3}) {
    const auto expected = at::cross_entropy_loss(logits(), soft_targets(), tensor,
                                                 at::Reduction::Sum, -100, smoothing);
    const auto found = soft_target_loss_sum(logits(), soft_targets(),
                                            {.smoothing = smoothing, .weights = weights});
    EXPECT_NEAR(found.item<double>(), expected.item<double>(), 1e-5);
  }
}

TEST(SoftTargetLoss, OneHotTargetsGiveTheLossOfTheirLabels) {
  const ClassLossOptions options = {.smoothing = 0.2, .focal_gamma = 1.5, .weights = {0.5, 1, 4}};
  const auto one_hot = at::one_hot(labels(), 3).to(at::kFloat);
  EXPECT_NEAR(soft_target_loss_sum(logits(), one_hot, options).item<double>(),
              class_loss_sum(logits(), labels(), options).item<double>(), 1e-5);
}

TEST(BceLoss, IsThatOfTorchWithWeightsOfTheYes) {
  const auto plain =
      at::binary_cross_entropy_with_logits(logits(), flags(), {}, {}, at::Reduction::Sum);
  EXPECT_NEAR(bce_loss_sum(logits(), flags(), {}).item<double>(), plain.item<double>(), 1e-5);
  const std::vector<double> weights = {0.5, 1, 4};
  const auto weighted = at::binary_cross_entropy_with_logits(
      logits(), flags(), {}, kernels::to_device(weights, at::kCPU), at::Reduction::Sum);
  EXPECT_NEAR(bce_loss_sum(logits(), flags(), {.weights = weights}).item<double>(),
              weighted.item<double>(), 1e-5);
  const auto smooth = at::binary_cross_entropy_with_logits(logits(), flags() * 0.8 + 0.1, {}, {},
                                                           at::Reduction::Sum);
  EXPECT_NEAR(bce_loss_sum(logits(), flags(), {.smoothing = 0.2}).item<double>(),
              smooth.item<double>(), 1e-5);
}

TEST(BceLoss, FocalLossDownweightsEasyExamples) {
  const auto shares = at::sigmoid(logits()).flatten();
  double expected = 0;
  for (int64_t i = 0; i < 9; ++i) {
    const double p = shares[i].item<double>();
    const double right = flags().flatten()[i].item<double>() == 1 ? p : 1 - p;
    expected -= std::pow(1 - right, 1.5) * std::log(right);
  }
  EXPECT_NEAR(bce_loss_sum(logits(), flags(), {.focal_gamma = 1.5}).item<double>(), expected, 1e-5);
}

TEST(ClassWeights, BalancedWeightsMatchScikitLearn) {
  const ClassOptions options{.class_weights = {.word = "balanced"}};
  // compute_class_weight("balanced"): n / (classes * count)
  EXPECT_EQ(class_weights(options, {"a", "b"}, {6, 2}, 8), (std::vector<double>{8.0 / 12, 2}));
  EXPECT_EQ(class_weights(options, {"a", "b", "c"}, {6, 2, 0}, 8),
            (std::vector<double>{8.0 / 12, 2, 1}));
}

TEST(ClassWeights, BalancedMultiLabelWeightsPositivesAgainstNegatives) {
  const ClassOptions options{.multi_label = true, .class_weights = {.word = "balanced"}};
  EXPECT_EQ(class_weights(options, {"a", "b"}, {2, 4}, 8), (std::vector<double>{3, 1}));
  EXPECT_EQ(test::message_of<config::Error>([&] {
              class_weights(options, {"a", "b"}, {2, 0}, 8);
            }),
            "objective.class_weights: balanced, but the class 'b' is in none of the rows; give the "
            "weights by class name");
}

TEST(ClassWeights, GivenOnesAreFoundByName) {
  const ClassOptions options{.class_weights = {.numbers = {{"spam", 6.5}}}};
  EXPECT_EQ(class_weights(options, {"ham", "spam"}, {1, 1}, 2), (std::vector<double>{1, 6.5}));
  EXPECT_EQ(test::message_of<config::Error>([&] {
              class_weights(options, {"ham", "spams"}, {1, 1}, 2);
            }),
            "objective.class_weights: 'spam' is not one of the classes ham, spams, did you mean "
            "'spams'?");
  EXPECT_TRUE(class_weights({}, {"ham", "spam"}, {1, 1}, 2).empty());
}

ClassOptions weighted() { return {.class_weights = {.numbers = {{"no", 0.25}, {"perhaps", 3}}}}; }

TEST(ClassifyObjective, AWeightedStepIsTheWeightedMeanHoweverItIsCut) {
  const auto objective = make_classify(weighted());
  Datasets data;
  data.labels = {"no", "perhaps", "yes"};
  data.class_counts = {1, 1, 1};
  data.rows = 3;
  objective->init_from_data(data);
  const auto model = models::make_model(test::tiny_model(models::Head::kSequence), 3);
  const auto part = [&](const std::vector<int64_t>& numbers) {
    const auto batch = test::batch_of(numbers);
    return std::pair{test::loss_sum(objective->losses(
                         *model, batch, batching::to_device(batch, at::kCPU).context)),
                     objective->weights(batch).front()};
  };
  const auto whole = part({1, 2, 3, 4, 5});
  const auto first = part({1, 2});
  const auto second = part({3, 4, 5});
  EXPECT_DOUBLE_EQ(whole.second, 3 * 3 + 2 * 0.25);  // labels 1 0 1 0 1
  EXPECT_DOUBLE_EQ(first.second + second.second, whole.second);
  EXPECT_NEAR(first.first + second.first, whole.first, 1e-5);
  const auto batch = test::batch_of({1, 2, 3, 4, 5});
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto logits = model->class_logits(model->hidden(device_batch.input, device_batch.context),
                                          device_batch.context);
  const auto expected = at::cross_entropy_loss(logits, at::tensor(batch.labels, at::kLong),
                                               at::tensor({0.25, 3.0, 1.0}, at::kFloat));
  EXPECT_NEAR(whole.first / whole.second, expected.item<double>(), 1e-5);
}

TEST(ClassifyObjective, AMixedBatchIsDividedByItsRowsAlsoWithClassWeights) {
  const auto objective = make_classify({.class_weights = {.word = "balanced"}});
  Datasets data;
  data.labels = {"a", "b"};
  data.class_counts = {3, 1};
  data.rows = 4;
  objective->init_from_data(data);
  data::Batch batch;
  batch.offsets = {0, 1, 2};
  batch.items = {0, 1};
  batch.labels = {1, 1};
  EXPECT_EQ(objective->weights(batch), std::vector<double>{4});  // 2 labels of weight 2
  batch.values = {0.5, 0.5, 0.25, 0.75};
  EXPECT_EQ(objective->weights(batch), std::vector<double>{2});
}

TEST(ClassifyObjective, TakesOnlyTheLastDataItWasShown) {
  const auto objective = make_classify({.class_weights = {.word = "balanced"}});
  data::Batch batch;
  batch.offsets = {0, 1};
  batch.items = {0};
  batch.labels = {1};
  Datasets data;
  data.labels = {"a", "b"};
  data.rows = 4;
  for (const auto& [counts, weight] : std::vector<std::pair<std::vector<int64_t>, double>>{
           {{3, 1}, 2}, {{3, 1}, 2}, {{2, 2}, 1}}) {
    data.class_counts = counts;
    objective->init_from_data(data);
    EXPECT_EQ(objective->weights(batch), std::vector<double>{weight});
  }
}

TEST(ClassifyObjective, FlagsCountEachDecision) {
  const auto objective = make_classify({.multi_label = true});
  auto shape = test::tiny_model(models::Head::kSequence);
  shape.is_multi_label = true;
  const auto model = models::make_model(shape, 3);
  data::Batch batch;
  for (int64_t number = 0; number < 3; ++number) {
    auto example = test::example(number);
    example.values = {1, number == 1 ? 1.0 : 0.0, 0};
    batch.add(number, example);
  }
  EXPECT_EQ(objective->terms(), std::vector<std::string>{"multi_label"});
  EXPECT_EQ(objective->counts(batch).front(), 9);
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto logits = model->class_logits(model->hidden(device_batch.input, device_batch.context),
                                          device_batch.context);
  const auto wanted = at::tensor(batch.values, at::kDouble).to(at::kFloat).view({3, 3});
  const auto mean = at::binary_cross_entropy_with_logits(logits, wanted);
  EXPECT_NEAR(test::loss_sum(objective->losses(*model, batch, device_batch.context)) / 9,
              mean.item<double>(), 1e-6);
  EXPECT_EQ(objective->metric_for_best_model(), "eval_f1");
}

}  // namespace
}  // namespace weft::objectives
