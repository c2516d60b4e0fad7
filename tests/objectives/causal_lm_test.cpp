#include <cmath>
#include <numbers>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "batches.h"
#include "batching/device_batch.h"
#include "kernels/linear/linear.h"
#include "objectives/objectives.h"

namespace weft::objectives {
namespace {

models::ModelOptions tiny_decoder() {
  auto options = test::tiny_model(models::Head::kCausalLm);
  options.family = models::family_named("gpt2");
  options.type_vocab_size = 0;
  options.norm_placement = models::NormPlacement::kPre;
  options.dropout = 0;
  options.attention_dropout = 0;
  return options;
}

/// Every token but the last is an input and predicts the next one; the first sequence has the
/// counts.
data::Example example(int64_t number) {
  data::Example made = test::example(number);
  made.token_type_ids.clear();
  made.targets.assign(made.ids.begin() + 1, made.ids.end());
  made.ids.pop_back();
  made.target_positions.clear();
  for (std::size_t i = 0; i < made.ids.size(); ++i) {
    made.target_positions.push_back(static_cast<int64_t>(i));
  }
  made.values = number == 1 ? std::vector<double>{6, 30, 40} : std::vector<double>{0, 0, 0};
  return made;
}

data::Batch causal_batch_of(const std::vector<int64_t>& numbers) {
  data::Batch batch;
  for (const auto number : numbers) {
    batch.add(number, example(number));
  }
  return batch;
}

class CausalLmObjectiveTest : public ::testing::Test {
 protected:
  double loss(const data::Batch& batch) {
    return objective_->losses(*model_, batch, batching::to_device(batch, at::kCPU).context)
        .front()
        .item<double>();
  }

  std::unique_ptr<Objective> objective_ = make_causal_lm();
  std::shared_ptr<models::Model> model_ = models::make_model(tiny_decoder(), 3);
};

TEST_F(CausalLmObjectiveTest, IsTheCrossEntropyOfTheNextToken) {
  const auto batch = causal_batch_of({1, 4});
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto hidden = model_->hidden(device_batch.input, device_batch.context);
  const auto logits = kernels::linear(model_->token_features(hidden), model_->output_weight(),
                                      model_->output_bias());
  double expected = 0;
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    expected -=
        at::log_softmax(logits[static_cast<int64_t>(i)], 0)[batch.targets[i]].item<double>();
  }
  EXPECT_NEAR(loss(batch), expected, 1e-4);
  EXPECT_EQ(objective_->counts(batch),
            std::vector<int64_t>{static_cast<int64_t>(batch.targets.size())});
}

TEST_F(CausalLmObjectiveTest, FutureTokensAndOtherSequencesAreMasked) {
  auto batch = causal_batch_of({4, 2});
  const double before = loss(causal_batch_of({4}));
  EXPECT_NEAR(loss(batch) - loss(causal_batch_of({2})), before, 1e-4);
  batch.ids.back() = batch.ids.back() == 7 ? 8 : 7;  // the last token of the last sequence
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto other = batching::to_device(causal_batch_of({4, 2}), at::kCPU);
  const auto a = model_->hidden(device_batch.input, device_batch.context);
  const auto b = model_->hidden(other.input, other.context);
  EXPECT_TRUE(at::allclose(a.slice(0, 0, -1), b.slice(0, 0, -1), 1e-5, 1e-6));
  EXPECT_FALSE(at::allclose(a, b, 1e-5, 1e-6));
}

TEST_F(CausalLmObjectiveTest, PerWordAndByteMetricsDoNotDependOnTruncation) {
  const auto one = test::evaluate(*objective_, *model_, {causal_batch_of({1, 2, 3, 4, 5})});
  const auto many =
      test::evaluate(*objective_, *model_,
                     {causal_batch_of({5, 3}), causal_batch_of({1}), causal_batch_of({4, 2})});
  ASSERT_EQ(one.size(), many.size());
  for (const auto& [name, value] : one) {
    EXPECT_NEAR(many.at(name), value, 1e-6 * std::max(1.0, std::abs(value))) << name;
  }
  const double nats = one.at("eval_loss") * one.at("eval_tokens");
  EXPECT_NEAR(nats, loss(causal_batch_of({1, 2, 3, 4, 5})), 1e-3);
  EXPECT_EQ(one.at("eval_words"), 6);
  EXPECT_NEAR(one.at("eval_word_perplexity"), std::exp(nats / 6), 1e-3 * std::exp(nats / 6));
  EXPECT_NEAR(one.at("eval_bits_per_character"), nats / 30 / std::numbers::ln2, 1e-6);
  EXPECT_NEAR(one.at("eval_bits_per_byte"), nats / 40 / std::numbers::ln2, 1e-6);
}

TEST_F(CausalLmObjectiveTest, UncountedTextsGiveNoSuchMetrics) {
  auto plain = example(1);
  plain.values.clear();
  data::Batch batch;
  batch.add(0, plain);
  EXPECT_FALSE(test::evaluate(*objective_, *model_, {batch}).contains("eval_word_perplexity"));
}

}  // namespace
}  // namespace weft::objectives
