#include "inference/generate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/datasets/sequence_template.h"
#include "inference/streaming_detokenizer.h"
#include "objectives/tiny_gpt.h"
#include "support/config.h"

namespace weft::inference {
namespace {

class TextGeneratorTest : public ::testing::Test {
 protected:
  GenerationSettings settings() const {
    GenerationSettings result;
    result.config.max_new_tokens = 12;
    return result;
  }

  std::vector<GenerationResult> answers(const GenerationSettings& wanted,
                                        const std::vector<std::string>& prompts) {
    std::vector<GenerationRequest> queries;
    for (const auto& prompt : prompts) {
      queries.push_back({.prompt = prompt});
    }
    return TextGenerator(*model_, tokenizer_, wanted).generate(queries, 0);
  }

  std::shared_ptr<models::Model> model_ = test::tiny_gpt();
  std::shared_ptr<const data::Tokenizer> tokenizer_ =
      std::make_shared<test::ToyTokenizer>(test::gpt_words());
  const std::vector<std::string> prompts_{"the cat", "a dog sat on the red mat", "by", "",
                                          "the big dog ran"};
};

TEST_F(TextGeneratorTest, TextIsThatOfTheNewTokens) {
  const auto found = answers(settings(), prompts_);
  ASSERT_EQ(found.size(), prompts_.size());
  for (const auto& answer : found) {
    ASSERT_EQ(answer.texts.size(), 1U);
    EXPECT_EQ(answer.texts[0].ids.size(), 12U);
    EXPECT_FALSE(answer.was_truncated);
  }
  EXPECT_FALSE(found[0].texts[0].text.empty());
}

TEST_F(TextGeneratorTest, ResultsDoNotDependOnBatches) {
  for (const bool samples : {false, true}) {
    auto wanted = settings();
    wanted.config.search.sampling.is_enabled = samples;
    const auto together = answers(wanted, prompts_);
    wanted.batch_size = 2;
    const auto apart = answers(wanted, prompts_);
    for (std::size_t i = 0; i < prompts_.size(); ++i) {
      EXPECT_EQ(together[i].texts[0].ids, apart[i].texts[0].ids);
      EXPECT_NEAR(together[i].texts[0].score, apart[i].texts[0].score, 1e-5);
    }
  }
}

TEST_F(TextGeneratorTest, EndsBeforeAStop) {
  const auto free = answers(settings(), prompts_);
  const auto& whole = free[0].texts[0].text;
  const auto stop = whole.substr(whole.size() / 2, 4);
  auto wanted = settings();
  wanted.stop_strings = {stop};
  const auto stopped = answers(wanted, prompts_);
  EXPECT_EQ(stopped[0].texts[0].text, whole.substr(0, whole.find(stop)));
  EXPECT_LE(stopped[0].texts[0].ids.size(), free[0].texts[0].ids.size());
}

TEST_F(TextGeneratorTest, StreamsItsOutput) {
  for (const std::vector<std::string>& stops : {std::vector<std::string>{}, {"mat", "dog s"}}) {
    auto wanted = settings();
    wanted.stop_strings = stops;
    const auto plain = answers(wanted, {prompts_[0]});
    std::string shown;
    TextGenerator generator(*model_, tokenizer_, wanted);
    const auto answer =
        generator.stream({.prompt = prompts_[0]}, [&](std::string_view piece) { shown += piece; });
    EXPECT_EQ(shown, plain[0].texts[0].text);
    EXPECT_EQ(answer.texts[0].ids, plain[0].texts[0].ids);
  }
}

TEST_F(TextGeneratorTest, PrefixIsContinued) {
  TextGenerator generator(*model_, tokenizer_, settings());
  const auto after = generator.generate({{.prompt = "the cat sat on"}}, 0);
  const auto with = generator.generate({{.prompt = "the cat", .prefix = "sat on"}}, 0);
  EXPECT_EQ(after[0].texts[0].ids, with[0].texts[0].ids);
}

TEST_F(TextGeneratorTest, ALongPromptLeavesSpaceForThePrefix) {
  std::string long_prompt;
  for (int i = 0; i < 60; ++i) {
    long_prompt += i % 2 == 0 ? "cat " : "dog ";
  }
  for (const int64_t beams : {1, 3}) {
    auto wanted = settings();
    wanted.config.search.num_beams = beams;
    TextGenerator generator(*model_, tokenizer_, wanted);
    const auto found = generator.generate(
        {{.prompt = "the cat", .prefix = "sat on"}, {.prompt = long_prompt, .prefix = "sat on"}},
        0);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_TRUE(found[1].was_truncated);
    EXPECT_EQ(found[0].texts[0].ids,
              generator.generate({{.prompt = "the cat", .prefix = "sat on"}}, 0)[0].texts[0].ids);
    EXPECT_THROW(generator.generate({{.prompt = "the", .prefix = long_prompt}}, 0), UserError);
  }
}

TEST_F(TextGeneratorTest, NoNewTokensAreAnEmptyText) {
  for (const int64_t beams : {1, 3}) {
    auto wanted = settings();
    wanted.config.max_new_tokens = 0;
    wanted.config.search.num_beams = beams;
    const auto found = answers(wanted, {"the cat"});
    ASSERT_EQ(found[0].texts.size(), 1U);
    EXPECT_TRUE(found[0].texts[0].ids.empty());
  }
}

TEST_F(TextGeneratorTest, LongPromptsAreTruncatedOnTheLeft) {
  std::string long_prompt;
  for (int i = 0; i < 30; ++i) {
    long_prompt += i % 2 == 0 ? "cat " : "dog ";
  }
  auto wanted = settings();
  const auto found = answers(wanted, {long_prompt});
  EXPECT_TRUE(found[0].was_truncated);
  EXPECT_EQ(found[0].texts[0].ids.size(), 1U);  // all that fits
}

TEST_F(TextGeneratorTest, TextsAreTruncatedAtTheModelLength) {
  auto wanted = settings();
  wanted.config.max_new_tokens = 30;
  const auto found = answers(wanted, prompts_);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& text = found[i].texts[0];
    EXPECT_TRUE(text.is_truncated);
    EXPECT_LT(text.ids.size(), 30U);
    EXPECT_GT(static_cast<int64_t>(text.ids.size()), test::kGptLength - 10);
  }
  wanted.config.max_new_tokens = 4;
  EXPECT_FALSE(answers(wanted, prompts_)[0].texts[0].is_truncated);  // as long as wanted
  wanted.config.max_new_tokens = 30;
  wanted.config.search.num_beams = 2;
  EXPECT_TRUE(answers(wanted, prompts_)[0].texts[0].is_truncated);
  wanted.config.search.eos_ids = {found[0].texts[0].ids[3]};
  wanted.config.search.num_beams = 1;
  EXPECT_FALSE(answers(wanted, prompts_)[0].texts[0].is_truncated);  // ended of itself
}

TEST_F(TextGeneratorTest, PromptsOfPairsEndAsTheyWereTrained) {
  auto options = model_->options();
  options.is_prefix_lm = true;
  options.prefix_end_id = 3;
  model_ = models::make_model(options, 3);
  TextGenerator generator(*model_, tokenizer_, settings());
  const auto found = generator.generate({{.prompt = "the cat"}}, 0);
  std::vector<int32_t> ids;
  tokenizer_->encode("the cat", ids);
  const data::SequenceTemplate frame(*tokenizer_, false);
  models::Tokens whole = frame.before();
  whole.insert(whole.end(), ids.begin(), ids.end());
  whole.push_back(3);
  EXPECT_EQ(found[0].texts[0].ids,
            generator.generate({{.prompt = "", .ids = whole}}, 0)[0].texts[0].ids);
}

TEST_F(TextGeneratorTest, RefusesWhatItCannotDo) {
  GenerationSettings ids_only;
  EXPECT_EQ(test::message_of<UserError>([&] { TextGenerator(*model_, nullptr, ids_only); }),
            "text input needs a tokenizer; ids do not");
  ids_only.decodes_text = false;
  TextGenerator generator(*model_, nullptr, ids_only);
  EXPECT_EQ(test::message_of<UserError>([&] { generator.generate({{.prompt = "cat"}}, 0); }),
            "a text prompt needs a tokenizer");
  EXPECT_EQ(
      test::message_of<UserError>([&] { generator.generate({{.prompt = "", .ids = {20}}}, 0); }),
      "prompt 1: id 20 is not one of the model's 20");
}

TEST(StreamingDetokenizer, ShowsNoHalfCharactersAndNoBeginOfAStop) {
  const std::vector<std::string> stops{"END"};
  StreamingDetokenizer stream(stops);
  EXPECT_EQ(stream.next("a\xEF\xBF\xBD"), "a");
  EXPECT_EQ(stream.next("a\xC3\xA9 E"), "\xC3\xA9 ");
  EXPECT_EQ(stream.next("a\xC3\xA9 EN"), "");
  EXPECT_EQ(stream.next("a\xC3\xA9 ENx"), "ENx");
  EXPECT_EQ(stream.next("a\xC3\xA9 ENxE"), "");
  EXPECT_EQ(stream.flush("a\xC3\xA9 ENxE"), "E");
}

TEST(StreamingDetokenizer, StopsCutAtTheFirst) {
  EXPECT_EQ(truncate_at_stop("one two three", {"three", "two"}), "one ");
  EXPECT_EQ(truncate_at_stop("one", {"two"}), "one");
}

}  // namespace
}  // namespace weft::inference
