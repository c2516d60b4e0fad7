#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "data/tokenizer.h"
#include "models/directory.h"
#include "small_run.h"
#include "support/context.h"

namespace weft::train {
namespace {

/// The loss of logistic regression with an L2 penalty is convex, so its gradient is zero at the
/// optimum only, the one that scikit-learn's LogisticRegression finds. Plain SGD adds weight decay
/// to the gradient, which is the gradient of that penalty.
TEST(BagOfWordsOptimum, IsReachedByGradientDescentWithAnL2Penalty) {
  constexpr double kPenalty = 0.01;
  const test::SmallRun small;
  const auto config = small.config(
      "classify", "run",
      {"model={type: bag_of_words, ngrams: 2, buckets: 100}", "train.batch_tokens=100000",
       "train.duration=1500 steps", "train.schedule={type: constant, warmup: 0 steps}",
       "train.optimizer={type: sgd, lr: 2, momentum: 0.9, weight_decay: 0.01}",
       "train.clip_norm=null", "train.log_every=500 steps"});
  {
    const test::CapturedStderr quiet;
    run_training(config, {});
  }
  const auto directory = models::model_directory(small.path("run"));
  const auto options = models::read_model_config(directory);
  const auto model = models::load_model(directory, options, 0).model;
  const auto tokenizer = data::load_tokenizer(directory);
  std::vector<int64_t> ids;
  std::vector<int64_t> offsets{0};
  std::vector<int64_t> labels;
  std::istringstream lines(small.file("train.tsv"));
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    const auto tab = line.find('\t');
    const auto label = std::ranges::find(options.labels, line.substr(tab + 1));
    ASSERT_NE(label, options.labels.end()) << line;
    labels.push_back(label - options.labels.begin());
    const auto tokens = tokenizer->ids(line.substr(0, tab));
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
  const auto logits =
      model->classify({.ids = at::tensor(ids, at::kLong)}, test::context_of(offsets));
  const auto words = model->named_parameters()["words"];
  const auto loss = at::cross_entropy_loss(logits, at::tensor(labels, at::kLong)) +
                    kPenalty / 2 * words.square().sum();
  loss.backward();
  EXPECT_GT(words.abs().max().item<double>(), 0.1);
  for (const auto& parameter : model->named_parameters()) {
    if (parameter->requires_grad()) {
      EXPECT_LT(parameter->grad().abs().max().item<double>(), 1e-5) << parameter.key();
    }
  }
}

}  // namespace
}  // namespace weft::train
