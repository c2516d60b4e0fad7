#include "objectives/objective.h"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "batches.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "kernels/linear/linear.h"
#include "objectives/masked_lm.h"
#include "objectives/objectives.h"

namespace weft::objectives {
namespace {

struct Case {
  std::shared_ptr<Objective> objective;
  std::shared_ptr<models::Model> model;
  bool is_regression = false;
  bool is_smoothed = false;
};

Case case_of(std::shared_ptr<Objective> objective) {
  auto model = test::tiny_model(objective->head({}));
  const bool is_regression = objective->label_format({}).is_regression;
  if (is_regression) {
    model.labels.clear();
    model.is_regression = true;
  }
  return {.objective = std::move(objective),
          .model = models::make_model(model, 3),
          .is_regression = is_regression};
}

Case smoothed_case(double smoothing) {
  auto made = case_of(make_classify({.label_smoothing = smoothing}));
  made.is_smoothed = true;
  return made;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  cases.push_back(case_of(make_masked_lm()));
  cases.push_back(case_of(make_masked_lm({.pair = data::PairTask::kNextSentence})));
  cases.push_back(case_of(make_classify()));
  cases.push_back(smoothed_case(0.2));
  cases.push_back(case_of(make_regress()));
  return cases;
}

data::Batch objective_batch_of(const Case& made, const std::vector<int64_t>& numbers) {
  return made.is_regression ? test::regression_batch_of(numbers) : test::batch_of(numbers);
}

std::vector<at::Tensor> objective_losses(const Case& made, const data::Batch& batch) {
  return made.objective->losses(*made.model, batch, batching::to_device(batch, at::kCPU).context);
}

TEST(Objective, StepSumDoesNotDependOnMicroBatches) {
  for (const auto& made : all_cases()) {
    const auto whole = objective_losses(made, objective_batch_of(made, {1, 2, 3, 4, 5}));
    const auto first = objective_losses(made, objective_batch_of(made, {1, 2}));
    const auto second = objective_losses(made, objective_batch_of(made, {3, 4, 5}));
    ASSERT_EQ(whole.size(), made.objective->terms().size());
    ASSERT_EQ(made.objective->counts(objective_batch_of(made, {1, 2})).size(), whole.size());
    for (std::size_t term = 0; term < whole.size(); ++term) {
      EXPECT_NEAR(whole[term].item<double>(),
                  first[term].item<double>() + second[term].item<double>(), 1e-4);
    }
  }
}

TEST(Objective, PartsDrawTheSameDropoutAsTheWhole) {
  for (auto& made : all_cases()) {
    auto options = made.model->options();
    options.dropout = options.attention_dropout = 0.3;
    options.layers = 2;
    made.model = models::make_model(options, 3);
    const auto training = [&](const data::Batch& batch) {
      auto context = batching::to_device(batch, at::kCPU).context;
      context.is_training = true;
      context.seed = 9;
      return context;
    };
    const auto all = objective_batch_of(made, {1, 2, 3, 4, 5});
    const auto whole = made.objective->losses(*made.model, all, training(all));
    std::vector<double> sums(whole.size(), 0);
    nn::ForwardContext before;
    for (const auto& numbers : std::vector<std::vector<int64_t>>{{1, 2}, {3}, {4, 5}}) {
      const auto part = objective_batch_of(made, numbers);
      auto context = training(part);
      context.first_row = before.first_row;
      context.first_target = before.first_target;
      context.first_sequence = before.first_sequence;
      const auto objective_losses = made.objective->losses(*made.model, part, context);
      for (std::size_t term = 0; term < sums.size(); ++term) {
        sums[term] += objective_losses[term].item<double>();
      }
      batching::advance_offsets(part, before);
    }
    for (std::size_t term = 0; term < sums.size(); ++term) {
      EXPECT_NEAR(sums[term], whole[term].item<double>(), 1e-4) << made.objective->terms()[term];
    }
  }
}

TEST(Objective, EvaluationDoesNotDependOnMicroBatches) {
  for (const auto& made : all_cases()) {
    const auto one = test::evaluate(*made.objective, *made.model,
                                    {objective_batch_of(made, {0, 1, 2, 3, 4, 5, 6, 7})});
    const auto many =
        test::evaluate(*made.objective, *made.model,
                       {objective_batch_of(made, {7, 3}), objective_batch_of(made, {0}),
                        objective_batch_of(made, {5, 1, 6}), objective_batch_of(made, {2, 4})});
    ASSERT_EQ(one.size(), many.size());
    for (const auto& [name, value] : one) {
      EXPECT_NEAR(many.at(name), value, 1e-6 * std::max(1.0, std::abs(value))) << name;
    }
  }
}

TEST(Objective, EvaluationsLossIsTheMeanOfTrainings) {
  for (const auto& made : all_cases()) {
    if (made.is_smoothed) {
      continue;  // smoothing is of training only
    }
    const auto batch = objective_batch_of(made, {1, 2, 3});
    const auto counts = made.objective->counts(batch);
    const auto sums = objective_losses(made, batch);
    double expected = 0;
    for (std::size_t term = 0; term < sums.size(); ++term) {
      expected += sums[term].item<double>() / static_cast<double>(counts[term]);
    }
    EXPECT_NEAR(test::evaluate(*made.objective, *made.model, {batch}).at("eval_loss"), expected,
                1e-5);
  }
}

TEST(MaskedLmObjective, IsTheCrossEntropyOfTheHiddenTokensAlone) {
  const auto made = case_of(make_masked_lm());
  const auto batch = objective_batch_of(made, {4, 9});
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto hidden = made.model->hidden(device_batch.input, device_batch.context);
  const auto logits = kernels::linear(made.model->token_features(hidden),
                                      made.model->output_weight(), made.model->output_bias());
  double expected = 0;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    expected -= at::log_softmax(logits[batch.target_rows[i]], 0)[batch.targets[i]].item<double>();
  }
  EXPECT_NEAR(test::loss_sum(objective_losses(made, batch)), expected, 1e-4);
  const auto metrics = test::evaluate(*made.objective, *made.model, {batch});
  EXPECT_NEAR(metrics.at("eval_perplexity"), std::exp(expected / 4), 1e-2);
}

TEST(MaskedLmObjective, ABatchWithoutTargetsCostsNothingAndHasAGradient) {
  const auto made = case_of(make_masked_lm());
  auto example = test::example(1);
  example.targets.clear();
  example.target_positions.clear();
  data::Batch batch;
  batch.add(0, example);
  const auto loss = objective_losses(made, batch).front();
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
}

TEST(MaskedLmObjective, IgnoredPairsDoNotCount) {
  const auto made = case_of(make_masked_lm({.pair = data::PairTask::kSentenceOrder}));
  EXPECT_EQ(made.objective->terms(), (std::vector<std::string>{"mlm", "sentence_order"}));
  auto batch = objective_batch_of(made, {1, 2, 3});
  const double whole = objective_losses(made, objective_batch_of(made, {1, 3}))[1].item<double>();
  batch.labels[1] = data::kIgnoreIndex;
  EXPECT_EQ(made.objective->counts(batch)[1], 2);
  EXPECT_NEAR(objective_losses(made, batch)[1].item<double>(), whole, 1e-5);
  EXPECT_TRUE(test::evaluate(*made.objective, *made.model, {batch})
                  .contains("eval_sentence_order_accuracy"));
}

TEST(ClassifyObjective, SmoothingSpreadsTheTarget) {
  const auto plain = case_of(make_classify());
  const auto smooth = smoothed_case(0.3);
  const auto batch = test::batch_of({1, 2});
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto logits = plain.model->class_logits(
      plain.model->hidden(device_batch.input, device_batch.context), device_batch.context);
  const auto expected = at::cross_entropy_loss(logits, at::tensor(batch.labels, at::kLong), {},
                                               at::Reduction::Sum, -100, 0.3);
  EXPECT_NEAR(test::loss_sum(objective_losses(smooth, batch)), expected.item<double>(), 1e-4);
}

TEST(ClassifyObjective, FiguresHaveTheNamesOfGlue) {
  const auto made = case_of(make_classify());
  const auto metrics =
      test::evaluate(*made.objective, *made.model, {objective_batch_of(made, {1, 2, 3})});
  for (const auto* name : {"eval_loss", "eval_accuracy", "eval_f1", "eval_precision", "eval_recall",
                           "eval_matthews_correlation"}) {
    EXPECT_TRUE(metrics.contains(name)) << name;
  }
}

TEST(RegressObjective, IsTheSumOfSquares) {
  const auto made = case_of(make_regress());
  const auto batch = objective_batch_of(made, {1, 2});
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto values = made.model->class_logits(
      made.model->hidden(device_batch.input, device_batch.context), device_batch.context);
  double expected = 0;
  for (int64_t i = 0; i < 2; ++i) {
    expected +=
        std::pow(values[i][0].item<double>() - batch.values[static_cast<std::size_t>(i)], 2);
  }
  EXPECT_NEAR(test::loss_sum(objective_losses(made, batch)), expected, 1e-5);
  EXPECT_TRUE(test::evaluate(*made.objective, *made.model, {batch}).contains("eval_pearson"));
}

TEST(Objective, HalfPrecisionStaysNear) {
  for (const auto& made : all_cases()) {
    const auto batch = objective_batch_of(made, {1, 2, 3, 4, 5, 6});
    const double exact = test::loss_sum(objective_losses(made, batch));
    for (auto& parameter : made.model->named_parameters().values()) {
      parameter.set_data(parameter.detach().to(at::kBFloat16));
    }
    const auto rough = objective_losses(made, batch);
    EXPECT_EQ(rough.front().scalar_type(), at::kFloat);
    EXPECT_NEAR(test::loss_sum(rough), exact, 0.03 * std::abs(exact));
    rough.front().backward();
  }
}

// Plain gradient descent with momentum; the model must learn eight random targets, labels and
// values.
TEST(Objective, LearnsAFewSequencesByHeart) {
  for (const auto& made : all_cases()) {
    if (made.is_smoothed) {
      continue;
    }
    auto batch = objective_batch_of(made, {1, 2, 3, 4});
    const auto counts = made.objective->counts(batch);
    std::vector<at::Tensor> moments;
    for (const auto& parameter : made.model->named_parameters().values()) {
      moments.push_back(at::zeros_like(parameter));
    }
    for (int step = 0; step < 150; ++step) {
      test::clear_gradients(*made.model);
      const auto sums = objective_losses(made, batch);
      at::Tensor loss = sums[0] / counts[0];
      for (std::size_t term = 1; term < sums.size(); ++term) {
        loss = loss + sums[term] / counts[term];
      }
      loss.backward();
      const at::NoGradGuard guard;
      std::size_t index = 0;
      for (auto& parameter : made.model->named_parameters().values()) {
        if (parameter.grad().defined()) {
          moments[index].mul_(0.9).add_(parameter.grad());
          parameter.sub_(moments[index], 0.02);
        }
        ++index;
      }
    }
    EXPECT_LT(test::evaluate(*made.objective, *made.model, {batch}).at("eval_loss"), 0.1)
        << made.objective->terms().front();
  }
}

}  // namespace
}  // namespace weft::objectives
