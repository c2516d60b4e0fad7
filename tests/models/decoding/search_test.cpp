#include "models/decoding/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/json.h"
#include "models/decoding/sampler.h"
#include "support/config.h"

namespace weft::models {
namespace {

using formats::Json;

constexpr int64_t kSearchWords = 14;
constexpr int64_t kEos = 13;

/// The formula of scripts/make_decoding_reference.py.
double toy_logit(int64_t before, int64_t last, int64_t word) {
  return static_cast<double>((before * 7919 + last * 10473 + word * 3571 +
                              (last + 1) * (word + 2) * 331 + (before + 3) * word * 173) %
                             1009) /
         200;
}

/// A model whose logits depend on the last two tokens.
class ToyDecoder : public Decoder {
 public:
  explicit ToyDecoder(const std::vector<Prompt>& prompts) {
    for (const auto& prompt : prompts) {
      sequences_.push_back(prompt.tokens);
    }
  }

  at::Tensor first() override { return logits(); }

  at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) override {
    std::vector<Tokens> sequences;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      sequences.push_back(sequences_[static_cast<std::size_t>(rows[i])]);
      sequences.back().push_back(tokens[i]);
    }
    sequences_ = std::move(sequences);
    ++steps_;
    return logits();
  }

  int64_t steps() const { return steps_; }

 private:
  at::Tensor logits() const {
    auto result = at::empty({static_cast<int64_t>(sequences_.size()), kSearchWords}, at::kFloat);
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      const auto& tokens = sequences_[i];
      const auto before = tokens.size() > 1 ? tokens[tokens.size() - 2] : 0;
      for (int64_t word = 0; word < kSearchWords; ++word) {
        result[static_cast<int64_t>(i)][word] = toy_logit(before, tokens.back(), word);
      }
    }
    return result;
  }

  std::vector<Tokens> sequences_;
  int64_t steps_ = 0;
};

const Json& reference() {
  static const auto json =
      formats::read_json(std::string(WEFT_SOURCE_DIR) + "/tests/reference/decoding.json");
  return json;
}

SearchOptions search_options_of(const Json& settings) {
  SearchOptions options;
  options.eos_ids = {kEos};
  if (settings.contains("eos_token_id")) {
    options.eos_ids = settings["eos_token_id"].get<Tokens>();
  }
  options.rules = {.repetition_penalty = settings.value("repetition_penalty", 1.0),
                   .no_repeat_ngram_size = settings.value("no_repeat_ngram_size", int64_t{0}),
                   .bad_words = settings.value("bad_words_ids", std::vector<Tokens>{}),
                   .suppress_tokens = settings.value("suppress_tokens", Tokens{}),
                   .begin_suppress_tokens = settings.value("begin_suppress_tokens", Tokens{}),
                   .forced_bos_token = settings.value("forced_bos_token_id", int64_t{-1}),
                   .forced_eos_token = settings.value("forced_eos_token_id", int64_t{-1})};
  options.num_beams = settings.value("num_beams", int64_t{1});
  options.num_return_sequences = options.num_beams;
  options.length_penalty = settings.value("length_penalty", 1.0);
  if (settings.contains("early_stopping")) {
    options.early_stopping =
        settings["early_stopping"].is_string() ? EarlyStopping::kNever : EarlyStopping::kYes;
  }
  return options;
}

std::vector<Prompt> prompts_of(const Json& settings) {
  std::vector<Prompt> prompts;
  for (const auto& tokens : reference()["prompts"]) {
    prompts.push_back({.tokens = tokens.get<Tokens>(),
                       .index = static_cast<int64_t>(prompts.size()),
                       .max_new_tokens = settings.value("max_new_tokens", int64_t{12}),
                       .min_new_tokens = settings.value("min_new_tokens", int64_t{0})});
  }
  return prompts;
}

/// Scores are sums in fp32.
double tolerance(double score) { return 1e-5 + 1e-6 * std::abs(score); }

/// Equal scores have no order.
bool holds(const std::vector<Hypothesis>& found, const Tokens& tokens, double score) {
  return std::any_of(found.begin(), found.end(), [&](const auto& hypothesis) {
    return hypothesis.tokens == tokens &&
           (score == 0 || std::abs(hypothesis.score - score) < tolerance(score));
  });
}

/// All prompts together; transformers processed them one at a time.
TEST(Search, EqualsTransformers) {
  for (const auto& wanted : reference()["cases"]) {
    const auto prompts = prompts_of(wanted["settings"]);
    ToyDecoder decoder(prompts);
    const auto found = search(decoder, prompts, search_options_of(wanted["settings"]));
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const auto& answer = wanted["answers"][i];
      ASSERT_EQ(found[i].size(), answer["tokens"].size()) << wanted["settings"];
      for (std::size_t j = 0; j < found[i].size(); ++j) {
        const auto score = answer["scores"].empty() ? 0 : answer["scores"][j].get<double>();
        if (score < -1e8) {
          break;  // a place that no hypothesis filled
        }
        EXPECT_TRUE(holds(found[i], answer["tokens"][j].get<Tokens>(), score))
            << wanted["settings"] << " prompt " << i << " hypothesis " << j;
        if (score != 0) {
          EXPECT_NEAR(found[i][j].score, score, tolerance(score)) << wanted["settings"];
        }
      }
    }
  }
}

TEST(Search, PromptsAreIndependent) {
  const auto together = prompts_of(Json::object());
  for (const int64_t beams : {int64_t{1}, int64_t{3}}) {
    const SearchOptions options{.eos_ids = {kEos}, .num_beams = beams};
    ToyDecoder decoder(together);
    const auto all = search(decoder, together, options);
    for (std::size_t i = 0; i < together.size(); ++i) {
      const std::vector<Prompt> alone{together[i]};
      ToyDecoder own(alone);
      EXPECT_EQ(search(own, alone, options)[0][0].tokens, all[i][0].tokens);
    }
  }
}

TEST(Search, GreedyScoresAreLogProbabilities) {
  const std::vector<Prompt> prompts{{.tokens = {1}, .max_new_tokens = 2}};
  ToyDecoder decoder(prompts);
  const auto found = search(decoder, prompts, {.length_penalty = 2})[0][0];
  double sum = 0;
  int64_t before = 0;
  int64_t last = 1;
  for (const auto token : found.tokens) {
    double mass = 0;
    for (int64_t word = 0; word < kSearchWords; ++word) {
      mass += std::exp(toy_logit(before, last, word));
    }
    sum += toy_logit(before, last, token) - std::log(mass);
    before = last;
    last = token;
  }
  EXPECT_NEAR(found.log_probability, sum, 1e-5);
  EXPECT_NEAR(found.score, sum / 4, 1e-5);
  EXPECT_FALSE(found.has_ended);
}

SearchOptions sampled(uint64_t seed) {
  return {.eos_ids = {kEos}, .sampling = {.is_enabled = true, .temperature = 3, .seed = seed}};
}

TEST(Search, DrawsDependOnlyOnSeedPromptAndPosition) {
  auto prompts = prompts_of(Json::object());
  ToyDecoder decoder(prompts);
  const auto all = search(decoder, prompts, sampled(7));
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<Prompt> alone{prompts[i]};
    ToyDecoder own(alone);
    EXPECT_EQ(search(own, alone, sampled(7))[0][0].tokens, all[i][0].tokens);
  }
  prompts[1] = prompts[0];
  prompts[1].index = 1;
  ToyDecoder again(prompts);
  const auto twice = search(again, prompts, sampled(7));
  EXPECT_NE(twice[0][0].tokens, twice[1][0].tokens);  // the same prompt, another index
  ToyDecoder other(prompts);
  EXPECT_NE(search(other, prompts, sampled(8))[0][0].tokens, twice[0][0].tokens);
}

TEST(Search, SeveralSamplesOfAPromptDiffer) {
  const std::vector<Prompt> prompts{{.tokens = {1}}, {.tokens = {2}, .index = 1}};
  auto options = sampled(3);
  options.num_return_sequences = 4;
  ToyDecoder decoder(prompts);
  const auto found = search(decoder, prompts, options);
  ASSERT_EQ(found[0].size(), 4U);
  EXPECT_NE(found[0][0].tokens, found[0][1].tokens);
  options.num_return_sequences = 1;
  ToyDecoder again(prompts);
  EXPECT_EQ(search(again, prompts, options)[1][0].tokens, found[1][0].tokens);
}

TEST(Search, OnlyAllowedTokensAndEndTokensAreGenerated) {
  const auto prompts = prompts_of(Json::object());
  for (const int64_t beams : {int64_t{1}, int64_t{4}}) {
    SearchOptions options{.eos_ids = {kEos}, .rules = {.allowed = {2, 5, 99}}, .num_beams = beams};
    ToyDecoder decoder(prompts);
    for (const auto& hypotheses : search(decoder, prompts, options)) {
      for (const auto token : hypotheses[0].tokens) {
        EXPECT_TRUE(token == 2 || token == 5 || token == kEos) << token;
      }
    }
  }
}

TEST(Search, StopsWhereTheHookSays) {
  const auto prompts = prompts_of(Json::object());
  const SearchHooks hooks{.is_stopped = [](auto generated) { return generated.size() == 3; }};
  for (const int64_t beams : {int64_t{1}, int64_t{3}}) {
    ToyDecoder decoder(prompts);
    const auto found = search(decoder, prompts, {.num_beams = beams}, hooks);
    for (const auto& hypotheses : found) {
      EXPECT_EQ(hypotheses[0].tokens.size(), 3U);
      EXPECT_TRUE(hypotheses[0].has_ended);
    }
    EXPECT_EQ(decoder.steps(), 2);
  }
}

TEST(Search, TokensAreStreamed) {
  const auto prompts = prompts_of(Json::object());
  std::map<int64_t, Tokens> told;
  const SearchHooks hooks{.on_token = [&](int64_t i, int64_t token) { told[i].push_back(token); }};
  ToyDecoder decoder(prompts);
  const auto found = search(decoder, prompts, {.eos_ids = {kEos}}, hooks);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(told[static_cast<int64_t>(i)], found[i][0].tokens);
  }
}

TEST(Search, NoNewTokensGiveNone) {
  const std::vector<Prompt> prompts{{.tokens = {1}, .max_new_tokens = 0},
                                    {.tokens = {2}, .max_new_tokens = 1}};
  ToyDecoder decoder(prompts);
  const auto found = search(decoder, prompts, {});
  EXPECT_TRUE(found[0][0].tokens.empty());
  EXPECT_EQ(found[1][0].tokens.size(), 1U);
}

TEST(Search, GroupsWithPenaltyDiffer) {
  const std::vector<Prompt> prompts{{.tokens = {1}, .max_new_tokens = 6}};
  ToyDecoder decoder(prompts);
  const SearchOptions apart{
      .num_beams = 4, .num_beam_groups = 4, .diversity_penalty = 5, .num_return_sequences = 4};
  const auto found = search(decoder, prompts, apart)[0];
  ASSERT_EQ(found.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(found[i].tokens[0], found[j].tokens[0]);
    }
  }
  ToyDecoder again(prompts);
  const SearchOptions alike{
      .eos_ids = {kEos}, .num_beams = 4, .num_beam_groups = 4, .num_return_sequences = 4};
  const auto same = search(again, prompts, alike)[0];
  EXPECT_EQ(same[0].tokens, same[3].tokens);  // each group is greedy by itself
}

TEST(Search, WordPenaltyMakesShorterTexts) {
  const auto prompts = prompts_of(Json::object());
  const auto words_by_sum = [&](double cost) {
    ToyDecoder decoder(prompts);
    std::size_t words = 0;
    const SearchOptions options{
        .eos_ids = {kEos}, .num_beams = 4, .length_penalty = 0, .word_penalty = cost};
    for (const auto& found : search(decoder, prompts, options)) {
      words += found[0].tokens.size();
    }
    return words;
  };
  EXPECT_LT(words_by_sum(5), words_by_sum(-5));
  EXPECT_DOUBLE_EQ(hypothesis_score(-6, 4, {.length_penalty = 0.5, .word_penalty = 1}), -5);
}

/// Two steps over the tokens 0, 1 and the end token 2. After token 0 the end has probability 0.8,
/// after token 1 0.9; the source has two tokens.
class TwoSteps : public Decoder {
 public:
  at::Tensor first() override {
    attention_ = {{0.9F, 0.1F}};
    return at::tensor({0.5F, 0.3F, 0.2F}).log().unsqueeze(0);
  }
  at::Tensor next(const std::vector<int64_t>& /*rows*/, const Tokens& tokens) override {
    attention_.clear();
    auto result = at::empty({static_cast<int64_t>(tokens.size()), 3}, at::kFloat);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool is_first = tokens[i] == 0;
      attention_.push_back(is_first ? std::vector<float>{0.9F, 0.1F}
                                    : std::vector<float>{0.1F, 0.9F});
      result[static_cast<int64_t>(i)] =
          is_first ? at::tensor({0.1F, 0.1F, 0.8F}).log() : at::tensor({0.05F, 0.05F, 0.9F}).log();
    }
    return result;
  }
  void record_source_attention() override { is_recorded_ = true; }
  const std::vector<std::vector<float>>& source_attention() const override {
    EXPECT_TRUE(is_recorded_);
    return attention_;
  }

 private:
  std::vector<std::vector<float>> attention_;
  bool is_recorded_ = false;
};

TEST(Search, CoveragePenaltyPrefersTextsThatReadTheWholeSource) {
  const std::vector<Prompt> one{{.tokens = {0}, .max_new_tokens = 2}};
  const auto found = [&](double penalty) {
    TwoSteps decoder;
    const SearchOptions options{.eos_ids = {2},
                                .num_beams = 2,
                                .length_penalty = 1,
                                .coverage_penalty = penalty,
                                .num_return_sequences = 2};
    return search(decoder, one, options)[0];
  };
  const auto plain = found(0);
  EXPECT_EQ(plain[0].tokens, (Tokens{0, 2}));
  EXPECT_NEAR(plain[0].score, std::log(0.4) / 2, 1e-6);
  EXPECT_EQ(plain[1].tokens, (Tokens{1, 2}));
  EXPECT_NEAR(plain[1].score, std::log(0.27) / 2, 1e-6);
  // The attention adds up to (1.8, 0.2) for the first text and (1, 1) for the second.
  const auto covered = found(0.5);
  EXPECT_EQ(covered[0].tokens, (Tokens{1, 2}));
  EXPECT_NEAR(covered[0].score, std::log(0.27) / 2, 1e-6);
  EXPECT_EQ(covered[1].tokens, (Tokens{0, 2}));
  EXPECT_NEAR(covered[1].score, std::log(0.4) / 2 + 0.5 * std::log(0.2), 1e-6);
  EXPECT_NEAR(covered[1].log_probability, std::log(0.4), 1e-6);
}

TEST(Search, CoveragePenaltyNeedsASource) {
  const std::vector<Prompt> prompts{{.tokens = {1}, .max_new_tokens = 6}};
  ToyDecoder decoder(prompts);
  EXPECT_THROW(search(decoder, prompts, {.num_beams = 2, .coverage_penalty = 1}), UserError);
}

TEST(Search, RefusesWhatCannotGoTogether) {
  const std::vector<Prompt> prompts{{.tokens = {1}}};
  ToyDecoder decoder(prompts);
  const auto refusal = [&](const SearchOptions& options) {
    return test::message_of<UserError>([&] { search(decoder, prompts, options); });
  };
  EXPECT_EQ(refusal({.sampling = {.is_enabled = true}, .num_beams = 2}),
            "beam search and sampling are mutually exclusive");
  EXPECT_EQ(refusal({.num_beams = 4, .num_beam_groups = 3}),
            "4 beams cannot be divided into 3 groups of equal size");
  EXPECT_EQ(
      refusal({.num_beams = 2, .num_return_sequences = 3}),
      "3 texts per prompt requested, but there are only 2 beams: at least as many are required");
  Tokens all;
  for (int64_t word = 0; word < kSearchWords; ++word) {
    all.push_back(word);
  }
  EXPECT_NE(refusal({.rules = {.suppress_tokens = all}}).find("no token can follow"),
            std::string::npos);
}

TEST(Sampler, SharesEqualTransformers) {
  for (const auto& draw : reference()["draws"]) {
    const auto scores = draw["scores"].get<std::vector<float>>();
    const Sampling sampling{.is_enabled = true,
                            .temperature = draw["temperature"],
                            .top_k = draw["top_k"],
                            .top_p = draw["top_p"],
                            .min_p = draw["min_p"]};
    std::vector<double> shares(scores.size(), 0.0);
    for (const auto& [token, share] : token_probabilities(scores, sampling)) {
      shares[static_cast<std::size_t>(token)] = share;
    }
    for (std::size_t i = 0; i < shares.size(); ++i) {
      EXPECT_NEAR(shares[i], draw["shares"][i].get<double>(), 1e-6) << draw;
    }
  }
}

TEST(Sampler, DrawsWithTheGivenFrequencies) {
  const std::vector<float> scores{0, std::log(2.0F), std::log(3.0F),
                                  -std::numeric_limits<float>::infinity()};
  std::vector<int64_t> times(4, 0);
  constexpr int64_t kDraws = 60000;
  for (int64_t i = 0; i < kDraws; ++i) {
    ++times[static_cast<std::size_t>(
        sample_token(scores, {.seed = 1}, 0, static_cast<uint64_t>(i)))];
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(static_cast<double>(times[i]) / kDraws, static_cast<double>(i + 1) / 6, 0.01);
  }
  EXPECT_EQ(times[3], 0);
}

}  // namespace
}  // namespace weft::models
