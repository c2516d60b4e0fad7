#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "kernels/linear/linear.h"
#include "models/config/presets.h"
#include "models/encoder_decoder_parts.h"
#include "objectives/batches.h"
#include "objectives/data/training_texts.h"
#include "objectives/evaluation/token_evaluation.h"
#include "objectives/objectives.h"
#include "support/config.h"

namespace weft::objectives {
namespace {

models::ModelOptions tiny(models::Family family = models::family_named("transformer")) {
  auto options = models::family_defaults(family);
  options.head = models::Head::kConditional;
  options.vocabulary = 30;
  options.dim = 16;
  options.layers = options.decoder.layers = 1;
  options.heads = options.decoder.heads = 2;
  options.width = options.decoder.width = 24;
  options.length = 20;
  models::set_decoding_ids(options);
  return options;
}

/// Source and target of differing lengths, the same for the same number.
data::Example pair(int64_t number) {
  data::Example made;
  for (int64_t i = 0; i < 2 + number % 4; ++i) {
    made.source_ids.push_back(5 + (number * 5 + i * 3) % 25);
  }
  for (int64_t i = 0; i < 3 + number % 3; ++i) {
    made.target_positions.push_back(i);
    made.ids.push_back(i == 0 ? 1 : made.targets.back());
    made.targets.push_back(5 + (number * 7 + i * 11) % 25);
  }
  return made;
}

data::Batch pairs_of(const std::vector<int64_t>& numbers) {
  data::Batch batch;
  for (const auto number : numbers) {
    batch.add(number, pair(number));
  }
  return batch;
}

std::unique_ptr<Objective> objective_of(double smoothing = 0) {
  return make_seq2seq({.label_smoothing = smoothing});
}

TEST(Seq2Seq, LossIsTorchsWithSmoothing) {
  const auto model = models::make_model(tiny(), 1);
  const auto batch = pairs_of({1, 2, 3});
  const auto context = batching::to_device(batch, at::kCPU).context;
  const auto logits =
      kernels::linear(model->token_features(batching::hidden_states(*model, batch, context)),
                      model->output_weight(), model->output_bias());
  const auto expected = at::cross_entropy_loss(logits, at::tensor(batch.targets, at::kLong), {},
                                               at::Reduction::Sum, -100, 0.2);
  const auto objective = objective_of(0.2);
  EXPECT_NEAR(test::loss_sum(objective->losses(*model, batch, context)), expected.item<double>(),
              1e-4);
  EXPECT_EQ(objective->counts(batch),
            (std::vector<int64_t>{static_cast<int64_t>(batch.targets.size())}));
}

TEST(Seq2Seq, DropoutDoesNotDependOnMicroBatches) {
  for (const auto family : {models::family_named("transformer"), models::family_named("t5")}) {
    const auto model = models::make_model(tiny(family), 1);
    const auto objective = objective_of(0.1);
    const auto loss_of = [&](const std::vector<data::Batch>& micro) {
      nn::ForwardContext context;
      context.is_training = true;
      context.seed = 3;
      context.step = 5;
      double sum = 0;
      for (const auto& batch : micro) {
        context.layout = batching::to_device(batch, at::kCPU).context.layout;
        sum += test::loss_sum(objective->losses(*model, batch, context));
        batching::advance_offsets(batch, context);
      }
      return sum;
    };
    const double whole = loss_of({pairs_of({1, 2, 3, 4})});
    EXPECT_NEAR(loss_of({pairs_of({1, 2}), pairs_of({3, 4})}), whole, 1e-4);
    EXPECT_NEAR(loss_of({pairs_of({1}), pairs_of({2, 3, 4})}), whole, 1e-4);
    EXPECT_GT(std::abs(loss_of({pairs_of({2, 1, 3, 4})}) - whole), 1e-4);
  }
}

TEST(Seq2Seq, MetricsDoNotDependOnBatches) {
  const auto model = models::make_model(tiny(), 1);
  const auto objective = objective_of(0.1);
  const auto whole = test::evaluate(*objective, *model, {pairs_of({1, 2, 3, 4})});
  const auto parts = test::evaluate(*objective, *model, {pairs_of({4, 2}), pairs_of({3, 1})});
  ASSERT_TRUE(whole.contains("eval_perplexity"));
  for (const auto& [name, value] : whole) {
    EXPECT_NEAR(parts.at(name), value, 1e-6) << name;
  }
  EXPECT_NEAR(whole.at("eval_perplexity"), std::exp(whole.at("eval_loss")), 1e-9);
}

/// The same pair as one sequence with bidirectional attention on the first tokens.
data::Batch prefixed(const data::Example& pair) {
  data::Example made;
  made.ids = pair.source_ids;
  made.prefix_length = static_cast<int64_t>(made.ids.size());
  made.ids.insert(made.ids.end(), pair.targets.begin(), pair.targets.end() - 1);
  made.targets = pair.targets;
  for (std::size_t i = 0; i < made.targets.size(); ++i) {
    made.target_positions.push_back(made.prefix_length - 1 + static_cast<int64_t>(i));
  }
  data::Batch batch;
  batch.add(0, made);
  return batch;
}

TEST(PrefixOfADecoder, LossIsOnTheTokensAfterABidirectionalPrefix) {
  auto options = models::family_defaults(models::family_named("gpt2"));
  const auto objective = make_prefix_lm();
  options.head = objective->head(options);
  EXPECT_EQ(options.head, models::Head::kCausalLm);
  EXPECT_FALSE(objective->incompatibility(options));
  options.vocabulary = 30;
  options.dim = 16;
  options.layers = 2;
  options.heads = 2;
  options.width = 24;
  options.length = 20;
  options.init_std = 0.3;
  const auto model = models::make_model(options, 1);
  const auto batch = prefixed(pair(3));
  auto context = batching::to_device(batch, at::kCPU).context;
  const double found = test::loss_sum(objective->losses(*model, batch, context));
  context.prefix_lengths = {batch.prefix_lengths[0]};
  const auto by_hand = [&] {
    const auto hidden = model->hidden(batching::input_to_device(batch, at::kCPU), context);
    const auto rows = hidden.index_select(0, at::tensor(batch.target_rows, at::kLong));
    return at::cross_entropy_loss(
               kernels::linear(rows, model->output_weight(), model->output_bias()),
               at::tensor(batch.targets, at::kLong), {}, at::Reduction::Sum)
        .item<double>();
  };
  EXPECT_NEAR(found, by_hand(), 1e-4);
  context.prefix_lengths.clear();
  EXPECT_GT(std::abs(found - by_hand()), 1e-3);
}

TEST(Seq2Seq, RecomputedLayersGiveTheSameGradients) {
  for (const auto family : {models::family_named("transformer"), models::family_named("t5")}) {
    const auto model = models::make_model(tiny(family), 1);
    const auto batch = pairs_of({1, 2, 3});
    const auto gradients = [&](bool recomputes) {
      auto context = batching::to_device(batch, at::kCPU).context;
      context.is_training = true;
      context.recomputes_layers = recomputes;
      test::clear_gradients(*model);
      objective_of(0.1)->losses(*model, batch, context).front().backward();
      std::vector<at::Tensor> found;
      for (const auto& parameter : model->named_parameters().values()) {
        found.push_back(parameter.grad().defined() ? parameter.grad().clone()
                                                   : at::zeros_like(parameter));
      }
      return found;
    };
    const auto plain = gradients(false);
    const auto again = gradients(true);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(test::near(again[i], plain[i], 1e-5)) << model->named_parameters().keys()[i];
    }
  }
}

TEST(Seq2Seq, ReadsItsLanguages) {
  auto section = test::section("objective",
                               {{"source_prefix", "'translate: '"}, {"target_language", "de_DE"}});
  data::DataOptions data;
  data.train.emplace_back();
  EXPECT_EQ(read_seq2seq(section)->language_codes(data).target, "de_DE");
}

}  // namespace
}  // namespace weft::objectives
