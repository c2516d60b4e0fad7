#include "inference/likelihood.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "inference/choice_metrics.h"
#include "kernels/linear/linear.h"
#include "nn/position/position.h"
#include "objectives/tiny_gpt.h"
#include "support/components.h"

namespace weft::inference {
namespace {

using models::Tokens;

class LikelihoodTest : public ::testing::Test {
 protected:
  /// log p of the last `count` tokens, each after all before it.
  double by_hand(const Tokens& tokens, std::size_t count, int64_t prefix = 0) {
    const at::NoGradGuard guard;
    const Tokens read(tokens.begin(), tokens.end() - 1);
    nn::ForwardContext context;
    context.layout =
        kernels::Layout::from_offsets({0, static_cast<int64_t>(read.size())}, at::kCPU);
    context.prefix_lengths = {prefix};
    const auto hidden =
        model_->hidden({.ids = at::tensor(read, at::kLong), .types = {}}, context);  // (N, D)
    const auto logs = kernels::linear(model_->token_features(hidden), model_->output_weight(),
                                      model_->output_bias())
                          .log_softmax(1);  // (N, V)
    double sum = 0;
    for (auto i = tokens.size() - count; i < tokens.size(); ++i) {
      sum += logs[static_cast<int64_t>(i) - 1][tokens[i]].item<double>();
    }
    return sum;
  }

  Tokens tokens_of(const std::string& text) const {
    std::vector<int32_t> ids;
    tokenizer_.encode(text, ids);
    return {ids.begin(), ids.end()};
  }

  std::shared_ptr<models::Model> model_ = test::tiny_gpt();
  test::ToyTokenizer tokenizer_ = test::gpt_words();
};

TEST_F(LikelihoodTest, IsTheSumOverTheContinuation) {
  const LikelihoodScorer scorer(*model_, tokenizer_);
  const auto found = scorer.score({{"the cat", " sat on the mat"}, {"a dog  ", "ran"}});
  EXPECT_EQ(found[0].tokens, 4);
  EXPECT_NEAR(found[0].log_probability, by_hand(tokens_of("the cat sat on the mat"), 4), 1e-5);
  EXPECT_EQ(found[1].tokens, 1);  // white space between them is not a token
  EXPECT_NEAR(found[1].log_probability, by_hand(tokens_of("a dog ran"), 1), 1e-5);
}

TEST_F(LikelihoodTest, ContextsOfAPrefixModelAreBidirectional) {
  auto options = model_->options();
  options.is_prefix_lm = true;
  model_ = models::make_model(options, 3);
  const auto found = [&] {
    return LikelihoodScorer(*model_, tokenizer_)
        .score({{"a", " dog"}, {"the cat", " sat on the mat"}})[1]
        .log_probability;
  };
  const auto tokens = tokens_of("the cat sat on the mat");
  EXPECT_NEAR(found(), by_hand(tokens, 4, 2), 1e-5);
  EXPECT_GT(std::abs(found() - by_hand(tokens, 4)), 1e-3);
  options.prefix_end_id = 3;
  model_ = models::make_model(options, 3);
  auto apart = tokens;
  apart.insert(apart.begin() + 2, 3);
  EXPECT_NEAR(found(), by_hand(apart, 4, 3), 1e-5);
}

TEST_F(LikelihoodTest, EmptyContextIsTheStartToken) {
  const LikelihoodScorer scorer(*model_, tokenizer_);
  auto tokens = tokens_of("cat");
  tokens.insert(tokens.begin(), model_->options().bos_id);
  EXPECT_NEAR(scorer.score({{"", "cat"}})[0].log_probability, by_hand(tokens, 1), 1e-5);
  EXPECT_EQ(test::message_of<UserError>([&] {
              scorer.score({{"the cat", ""}});
            }),
            "the continuation '' adds no token to its context 'the cat': it needs a text, or a "
            "delimiter between both");
}

TEST_F(LikelihoodTest, ResultsDoNotDependOnBatches) {
  std::vector<Continuation> items;
  const std::vector<std::string> words{"the", "cat", "dog", "sat", "ran", "on", "mat", "red"};
  for (std::size_t i = 0; i < 40; ++i) {
    std::string context = words[i % 8];
    for (std::size_t j = 0; j < i % 7; ++j) {
      context += " " + words[(i * j) % 8];
    }
    items.push_back({context, " " + words[(3 * i) % 8] + " " + words[(5 * i) % 8]});
  }
  const auto wide = LikelihoodScorer(*model_, tokenizer_).score(items);
  const auto narrow = LikelihoodScorer(*model_, tokenizer_, {.batch_tokens = 1}).score(items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_NEAR(wide[i].log_probability, narrow[i].log_probability, 1e-5);
    EXPECT_EQ(wide[i].is_greedy, narrow[i].is_greedy);
  }
}

TEST_F(LikelihoodTest, GreedyMeansTheLikeliestEachTime) {
  const LikelihoodScorer scorer(*model_, tokenizer_);
  int64_t greedy = 0;
  double best = -1e9;
  std::size_t best_item = 0;
  std::vector<Continuation> items;
  for (int32_t id = 5; id < 20; ++id) {
    if (!tokenizer_.continues_word(id)) {
      items.push_back({"the cat", " " + tokenizer_.piece(id)});
    }
  }
  const auto found = scorer.score(items);
  for (std::size_t i = 0; i < found.size(); ++i) {
    greedy += found[i].is_greedy ? 1 : 0;
    if (found[i].log_probability > best) {
      best = found[i].log_probability;
      best_item = i;
    }
  }
  EXPECT_LE(greedy, 1);
  if (greedy == 1) {
    EXPECT_TRUE(found[best_item].is_greedy);
  }
}

TEST_F(LikelihoodTest, LongContinuationsAreScoredInWindows) {
  std::string text = "sat";
  for (int i = 0; i < 100; ++i) {
    text += i % 3 == 0 ? " cat" : " dog";
  }
  const LikelihoodScorer scorer(*model_, tokenizer_);
  const auto found = scorer.score({{"", text}, {"the cat", " " + text}});
  EXPECT_EQ(found[0].tokens, static_cast<int64_t>(tokenizer_.ids(text).size()));
  EXPECT_GT(found[0].tokens, 2 * test::kGptLength);
  EXPECT_NEAR(found[0].log_probability, scorer.score_texts({text})[0].log_probability, 1e-9);
  EXPECT_TRUE(found[1].was_truncated);
  EXPECT_GE(found[1].tokens, found[0].tokens);
  EXPECT_GT(std::abs(found[1].log_probability - found[0].log_probability), 1e-3);
}

TEST_F(LikelihoodTest, StridesGiveEachTokenContext) {
  std::string text = "sat";
  for (int i = 0; i < 60; ++i) {
    text += i % 3 == 0 ? " cat" : " dog";
  }
  auto tokens = tokens_of(text);
  const auto count = tokens.size();
  tokens.insert(tokens.begin(), model_->options().bos_id);
  const auto scored = [&](int64_t length, int64_t stride, int64_t batch_tokens) {
    const LikelihoodScorer scorer(
        *model_, tokenizer_,
        {.batch_tokens = batch_tokens, .max_length = length, .stride = stride});
    const auto found = scorer.score_texts({text})[0];
    EXPECT_EQ(found.tokens, static_cast<int64_t>(count));
    EXPECT_NEAR(scorer.score({{"", text}})[0].log_probability, found.log_probability, 1e-4);
    return found.log_probability;
  };
  for (const auto& [length, stride] :
       {std::pair<std::size_t, std::size_t>{16, 1}, {16, 5}, {9, 9}}) {
    double expected = by_hand({tokens.begin(), tokens.begin() + length + 1}, length);
    for (auto end = length; end < count;) {
      const auto scores = std::min(stride, count - end);
      end += scores;
      expected += by_hand({tokens.begin() + end - length, tokens.begin() + end + 1}, scores);
    }
    const auto signed_length = static_cast<int64_t>(length);
    const auto signed_stride = static_cast<int64_t>(stride);
    EXPECT_NEAR(scored(signed_length, signed_stride, 4096), expected, 1e-4);
    EXPECT_NEAR(scored(signed_length, signed_stride, 1), expected, 1e-4);
  }
  EXPECT_NEAR(scored(0, 0, 4096), scored(test::kGptLength, test::kGptLength, 4096), 1e-4);
}

TEST_F(LikelihoodTest, ProgressOfTextsEndsAtOne) {
  std::vector<double> seen;
  const LikelihoodScorer scorer(
      *model_, tokenizer_,
      {.batch_tokens = 1, .on_progress = [&](double fraction) { seen.push_back(fraction); }});
  scorer.score_texts({"the cat sat on the mat", "a dog ran"});
  ASSERT_EQ(seen.size(), 2);
  EXPECT_LT(seen[0], 1);
  EXPECT_EQ(seen[1], 1);
}

TEST_F(LikelihoodTest, WindowsFitThePositions) {
  const auto message = [&](int64_t length, int64_t stride) -> std::string {
    try {
      LikelihoodScorer(*model_, tokenizer_, {.max_length = length, .stride = stride});
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(25, 0),
            "max_length 25: must be at most 24, the number of positions of the model");
  EXPECT_EQ(message(8, 9), "stride 9: must be at most 8, the tokens of a window (max_length)");
  EXPECT_EQ(message(24, 24), "");
  auto options = model_->options();
  options.layer_types.positions = {test::component(nn::position_types(), "position", "type: none")};
  model_ = models::make_model(options, 3);
  EXPECT_EQ(message(0, 25), "stride 25: must be at most 24, the tokens of a window (max_length)");
  EXPECT_EQ(message(100, 25), "");
}

TEST_F(LikelihoodTest, LongContextsAreTruncatedOnTheLeft) {
  std::string context;
  for (int i = 0; i < 40; ++i) {
    context += i % 3 == 0 ? "cat " : "dog ";
  }
  const LikelihoodScorer scorer(*model_, tokenizer_);
  const auto found = scorer.score({{context, "sat on"}});
  EXPECT_TRUE(found[0].was_truncated);
  auto tokens = tokens_of(context + "sat on");
  tokens.erase(tokens.begin(), tokens.end() - (test::kGptLength + 1));
  // The last token is looked for, not read: its context is as long as the model reads.
  const double last = by_hand(tokens, 1);
  EXPECT_NEAR(found[0].log_probability, by_hand({tokens.begin(), tokens.end() - 1}, 1) + last,
              1e-4);
}

TEST_F(LikelihoodTest, WholeTextsAreScoredInWindows) {
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += i % 4 == 0 ? "cat " : i % 3 == 0 ? "sat " : "on ";
  }
  const LikelihoodScorer scorer(*model_, tokenizer_);
  const auto found = scorer.score_texts({text, "the cat", ""});
  const auto tokens = tokens_of(text);
  ASSERT_EQ(found[0].tokens, 60);
  EXPECT_EQ(found[1].tokens, 2);
  EXPECT_EQ(found[2].tokens, 0);
  auto first = tokens_of("the cat");
  first.insert(first.begin(), model_->options().bos_id);
  EXPECT_NEAR(found[1].log_probability, by_hand(first, 2), 1e-5);
  EXPECT_LT(found[0].log_probability, 0);
  const auto narrow =
      LikelihoodScorer(*model_, tokenizer_, {.batch_tokens = 1}).score_texts({text});
  EXPECT_NEAR(narrow[0].log_probability, found[0].log_probability, 1e-4);
}

TEST(ScoreMetrics, NormalizesByLengthBytesAndContext) {
  ScoreMetrics metrics;
  // By sum the first, by character and byte the second, less the unconditional the third.
  metrics.add({.texts = {"a", "abcd", "ab"},
               .log_probabilities = {-2, -4, -3},
               .unconditional = {-1, -4, -9},
               .label = 0});
  metrics.add({.texts = {"a", "abcd", "ab"},
               .log_probabilities = {-2, -4, -3},
               .unconditional = {-1, -4, -9},
               .label = 1});
  metrics.add({.texts = {"a", "abcd", "ab"},
               .log_probabilities = {-2, -4, -3},
               .unconditional = {-1, -4, -9},
               .label = 2});
  metrics.add({.texts = {"\xC3\xA9\xC3\xA9", "abc"},  // 2 characters in 4 bytes
               .log_probabilities = {-4, -4.5},
               .unconditional = {0, 0},
               .label = 0});
  std::map<std::string, double> found;
  for (const auto& [name, value] : metrics.result()) {
    found[name] = value;
  }
  EXPECT_EQ(found["items"], 4);
  EXPECT_DOUBLE_EQ(found["accuracy"], 0.5);
  EXPECT_DOUBLE_EQ(found["acc_norm"], 0.25);
  EXPECT_DOUBLE_EQ(found["acc_bytes"], 0.5);
  EXPECT_DOUBLE_EQ(found["acc_mutual_info"], 0.5);
  // Deviation of 1, 0, 0, 1: root of 1/3; over the root of 4.
  EXPECT_NEAR(found["accuracy_stderr"], std::sqrt(1.0 / 3) / 2, 1e-12);
}

TEST(ScoreMetrics, PerplexitiesOfTexts) {
  ScoreMetrics metrics;
  metrics.add_text({.log_probability = -10, .tokens = 4}, 5, 20);
  metrics.add_text({.log_probability = -20, .tokens = 9}, 10, 40);
  std::map<std::string, double> found;
  for (const auto& [name, value] : metrics.result()) {
    found[name] = value;
  }
  EXPECT_NEAR(found["word_perplexity"], std::exp(2), 1e-9);
  EXPECT_NEAR(found["byte_perplexity"], std::exp(0.5), 1e-9);
  EXPECT_NEAR(found["bits_per_byte"], 0.5 / std::log(2), 1e-9);
  EXPECT_NEAR(found["word_perplexity_stderr"], 0, 1e-9);  // each text is as hard
  for (const auto& [name, value] : metrics.result(30)) {
    found[name] = value;
  }
  EXPECT_NEAR(found["word_perplexity"], std::exp(1), 1e-9);
}

TEST(ScoreMetrics, ContinuationsHaveAPerplexity) {
  ScoreMetrics metrics;
  metrics.add_continuation({.log_probability = -1, .is_greedy = true});
  metrics.add_continuation({.log_probability = -3, .is_greedy = false});
  std::map<std::string, double> found;
  for (const auto& [name, value] : metrics.result()) {
    found[name] = value;
  }
  EXPECT_DOUBLE_EQ(found["accuracy"], 0.5);
  EXPECT_NEAR(found["perplexity"], std::exp(2), 1e-12);
  EXPECT_NEAR(found["perplexity_stderr"], std::exp(2) * 1, 1e-12);
}

TEST(ScoreMetrics, WordsAreCountedAsPythonSplitsThem) {
  EXPECT_EQ(split_count("a b  c\n"), 4);
  EXPECT_EQ(split_count(""), 1);
  EXPECT_EQ(split_count(" a"), 2);
}

}  // namespace
}  // namespace weft::inference
