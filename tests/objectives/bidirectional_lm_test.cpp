#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "batches.h"
#include "batching/device_batch.h"
#include "models/config/family.h"
#include "objectives/objectives.h"

namespace weft::objectives {
namespace {

class BidirectionalLm : public ::testing::Test {
 protected:
  static std::shared_ptr<models::Model> make() {
    auto options = models::family_defaults(models::family_named("elmo"));
    options.head = models::Head::kBidirectionalLm;
    options.vocabulary = 30;
    options.dim = 8;
    options.dropout = 0;
    auto model = models::make_model(options, 1);
    test::fill_parameters(*model, 0.8);
    return model;
  }

  static data::Batch batch() {
    data::Batch batch;
    data::Example example;
    for (const auto& ids : {std::vector<int64_t>{5, 6, 7}, {8}, {9, 5}}) {  // {8} predicts nothing
      example.ids = ids;
      batch.add(batch.sequences(), example);
    }
    return batch;
  }

  std::unique_ptr<Objective> objective_ = make_bidirectional_lm();
  std::shared_ptr<models::Model> model_ = make();
};

TEST_F(BidirectionalLm, IsTheCrossEntropyOfTheNextAndOfThePreviousToken) {
  const auto device_batch = batching::to_device(batch(), at::kCPU);
  const auto hidden = model_->hidden(device_batch.input, device_batch.context);
  const auto forward = at::log_softmax(model_->lm_logits(hidden.narrow(1, 0, 4)), 1);
  const auto backward = at::log_softmax(model_->lm_logits(hidden.narrow(1, 4, 4)), 1);
  const auto losses = objective_->losses(*model_, batch(), device_batch.context);
  ASSERT_EQ(losses.size(), 2U);
  EXPECT_NEAR(losses[0].item<double>(),
              -(forward[0][6] + forward[1][7] + forward[4][5]).item<double>(), 1e-4);
  EXPECT_NEAR(losses[1].item<double>(),
              -(backward[1][5] + backward[2][6] + backward[5][9]).item<double>(), 1e-4);
}

TEST_F(BidirectionalLm, AveragesTheDirections) {
  EXPECT_EQ(objective_->terms(), (std::vector<std::string>{"forward", "backward"}));
  EXPECT_EQ(objective_->counts(batch()), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(objective_->weights(batch()), (std::vector<double>{6, 6}));
}

TEST_F(BidirectionalLm, IsEvaluatedInBothDirections) {
  const auto context = batching::to_device(batch(), at::kCPU).context;
  const auto evaluation = objective_->evaluation();
  evaluation->add(*model_, batch(), context);
  const auto metrics = evaluation->result();
  const auto losses = objective_->losses(*model_, batch(), context);
  EXPECT_NEAR(metrics.at("eval_forward_loss"), losses[0].item<double>() / 3, 1e-5);
  EXPECT_NEAR(metrics.at("eval_backward_loss"), losses[1].item<double>() / 3, 1e-5);
  EXPECT_NEAR(metrics.at("eval_loss"), (losses[0] + losses[1]).item<double>() / 6, 1e-5);
}

TEST_F(BidirectionalLm, NeedsAModelOfBothDirections) {
  EXPECT_FALSE(objective_->incompatibility(model_->options()));
  EXPECT_TRUE(objective_->incompatibility(test::tiny_model(models::Head::kMaskedLm)));
}

}  // namespace
}  // namespace weft::objectives
