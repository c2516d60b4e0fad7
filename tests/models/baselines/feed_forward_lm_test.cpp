#include "models/baselines/feed_forward_lm.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "models/config/family.h"
#include "models/decoding/model_decoder.h"
#include "models/directory.h"
#include "nn/decoding_state.h"
#include "support/context.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

constexpr int64_t kStart = 0;  // the bos token

ModelOptions feed_forward_options(FeedForwardLmOptions own, int64_t vocabulary = 7) {
  auto options = family_defaults(family_named("feed_forward_lm"));
  options.head = Head::kCausalLm;
  options.vocabulary = vocabulary;
  options.dim = 4;
  options.bos_id = kStart;
  options.eos_id = 1;
  options.feed_forward_lm = own;
  return options;
}

at::Tensor logits_of(Model& model,
                     const std::vector<int64_t>& ids,
                     const std::vector<int64_t>& offsets) {
  return model.lm_logits(
      model.hidden({.ids = at::tensor(ids, at::kLong)}, test::context_of(offsets)));
}

std::shared_ptr<Model> filled_model(const ModelOptions& options) {
  auto model = make_model(options, 1);
  test::fill_parameters(*model);
  return model;
}

TEST(FeedForwardLm, ComputesTheFormula) {
  const auto model =
      filled_model(feed_forward_options({.context = 2, .hidden = 3, .direct = true}));
  const auto p = model->named_parameters();
  const auto found = logits_of(*model, {kStart, 5, 3}, {0, 3});
  const std::vector<std::pair<int64_t, int64_t>> contexts = {{kStart, kStart}, {kStart, 5}, {5, 3}};
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    const auto input = at::cat({p["words"][contexts[i].first], p["words"][contexts[i].second]});
    const auto hidden = (at::mv(p["hidden.weight"], input) + p["hidden.bias"]).tanh();
    const auto expected = at::mv(p["output"], at::cat({hidden, input})) + p["output_bias"];
    EXPECT_TRUE(test::near(found[static_cast<int64_t>(i)], expected)) << i;
  }
}

TEST(FeedForwardLm, LogBilinearPredictsTheNextEmbedding) {
  auto own = FeedForwardLmOptions{.context = 3,
                                  .hidden = 4,
                                  .kind = FeedForwardLmKind::kBilinear,
                                  .tie = EmbeddingTie::kAlways};
  const auto model = filled_model(feed_forward_options(own));
  const auto p = model->named_parameters();
  ASSERT_EQ(p.size(), 3);
  {
    const at::NoGradGuard no_grad;  // only the last token counts
    p["hidden.weight"].slice(1, 0, 8).zero_();
  }
  own.context = 1;
  const auto short_model = make_model(feed_forward_options(own), 1);
  test::set_parameters(*short_model, {{"words", p["words"]},
                                      {"hidden.weight", p["hidden.weight"].slice(1, 8)},
                                      {"output_bias", p["output_bias"]}});
  const std::vector<int64_t> ids = {kStart, 4, 5, 6, 2};
  const auto found = logits_of(*model, ids, {0, 5});
  EXPECT_TRUE(test::near(found, logits_of(*short_model, ids, {0, 5})));
  const auto expected =
      at::mv(p["words"], at::mv(p["hidden.weight"].slice(1, 8), p["words"][5])) + p["output_bias"];
  EXPECT_TRUE(test::near(found[2], expected));
}

/// With one token as context, one-hot embeddings and no hidden layer, the scores are a table of
/// bigrams, and the loss is convex: its optimum is the maximum likelihood estimate.
TEST(FeedForwardLm, BigramsAreOptimalAtTheirRelativeFrequencies) {
  constexpr int64_t kWords = 5;
  const std::vector<int64_t> ids = {0, 2, 3, 2, 0, 2, 4, 2, 4};
  const std::vector<int64_t> next = {2, 3, 2, 4, 2, 4, 2, 4, 1};
  auto options = feed_forward_options({.context = 1, .hidden = 0, .direct = true}, kWords);
  options.dim = kWords;
  options.bos_id = -1;
  const auto model = make_model(options, 1);
  auto counts = at::zeros({kWords, kWords});  // of a word and the next
  for (std::size_t i = 0; i < ids.size(); ++i) {
    counts[ids[i]][next[i]] += 1;
  }
  const auto likelihood = (counts / counts.sum(1, true)).nan_to_num(1.0 / kWords);
  test::set_parameters(*model, {{"words", at::eye(kWords)},
                                {"output", likelihood.clamp_min(1e-12).log().t().contiguous()},
                                {"output_bias", at::zeros({kWords})}});
  const auto context = test::context_of({0, 9});
  const auto states = model->hidden({.ids = at::tensor(ids, at::kLong)}, context);
  const auto loss = model->lm_loss(states, at::tensor(next, at::kLong), context);
  double expected = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    expected -= std::log(likelihood[ids[i]][next[i]].item<double>());
  }
  EXPECT_NEAR(loss.item<double>(), expected, 1e-4);
  loss.backward();
  const auto gradient = model->named_parameters()["output"].grad();
  EXPECT_LT(gradient.abs().max().item<double>(), 1e-5);
}

TEST(FeedForwardLm, ABeginningOfSequenceTokenBeginsANewText) {
  const auto model = filled_model(feed_forward_options({.context = 3, .hidden = 5}));
  const auto packed = logits_of(*model, {kStart, 5, 3, kStart, 4, 2}, {0, 6});
  const auto apart = logits_of(*model, {kStart, 5, 3, kStart, 4, 2}, {0, 3, 6});
  EXPECT_TRUE(test::near(packed, apart));
  const auto other = logits_of(*model, {kStart, 6, 3, kStart, 4, 2}, {0, 6});
  EXPECT_TRUE(test::near(packed.slice(0, 3), other.slice(0, 3)));
  EXPECT_FALSE(test::near(packed.slice(0, 2, 3), other.slice(0, 2, 3)));
}

TEST(FeedForwardLm, WithoutSuchATokenThereAreZerosBeforeTheText) {
  auto options = feed_forward_options({.context = 2, .hidden = 3});
  options.bos_id = -1;
  const auto model = filled_model(options);
  const auto p = model->named_parameters();
  const auto input = at::cat({at::zeros({4}), p["words"][5]});
  const auto expected =
      at::mv(p["output"], (at::mv(p["hidden.weight"], input) + p["hidden.bias"]).tanh()) +
      p["output_bias"];
  EXPECT_TRUE(test::near(logits_of(*model, {5, 2}, {0, 2})[0], expected));
}

TEST(FeedForwardLm, DecodingTokenByTokenEqualsReading) {
  const auto model = filled_model(feed_forward_options({.context = 3, .hidden = 5}));
  const std::vector<int64_t> ids = {kStart, 4, 5, 6, 2};
  const auto expected = logits_of(*model, ids, {0, 5});
  nn::DecodingState state(1);
  nn::ForwardContext context;
  context.decoding_state = &state;
  int64_t row = 0;
  for (const int64_t count : {2, 1, 1, 1}) {
    context.layout = state.begin_step({count}, at::kCPU);
    const std::vector<int64_t> part(ids.begin() + row, ids.begin() + row + count);
    const auto states = model->hidden({.ids = at::tensor(part, at::kLong)}, context);
    EXPECT_TRUE(test::near(model->lm_logits(states), expected.slice(0, row, row + count)));
    row += count;
  }
}

TEST(FeedForwardLm, TiedInitialValuesAreThoseOfTheEmbeddings) {
  const auto parameters_of = [](EmbeddingTie tie) {
    return make_model(feed_forward_options({.hidden = 4, .tie = tie}), 3)->named_parameters();
  };
  const auto init = parameters_of(EmbeddingTie::kInit);
  EXPECT_TRUE(at::equal(init["output"], init["words"]));
  const auto none = parameters_of(EmbeddingTie::kNone);
  EXPECT_FALSE(at::equal(none["output"], none["words"]));
  EXPECT_TRUE(at::equal(none["words"], init["words"]));
  EXPECT_EQ(parameters_of(EmbeddingTie::kAlways).find("output"), nullptr);
}

}  // namespace
}  // namespace weft::models
