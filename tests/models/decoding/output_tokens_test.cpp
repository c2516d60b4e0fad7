#include "models/decoding/output_tokens.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "models/config/family_definition.h"
#include "models/decoding/model_decoder.h"
#include "models/decoding/search.h"
#include "models/directory.h"
#include "models/inference.h"
#include "tiny_decoders.h"

namespace weft::models {
namespace {

constexpr float kImpossible = -std::numeric_limits<float>::infinity();

/// Logits of all tokens, -infinity for those that are not output tokens of their prompt.
class MaskedDecoder : public Decoder {
 public:
  MaskedDecoder(Decoder& decoder, const std::vector<Tokens>& output_tokens) : decoder_(decoder) {
    for (const auto& tokens : output_tokens) {
      rows_.push_back(at::zeros({test::kDecoderWords}, at::kBool)
                          .index_fill_(0, at::tensor(tokens, at::kLong), true));
    }
  }

  at::Tensor first() override { return masked(decoder_.first()); }
  at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) override {
    std::vector<at::Tensor> kept;
    for (const auto row : rows) {
      kept.push_back(rows_[static_cast<std::size_t>(row)]);
    }
    rows_ = std::move(kept);
    return masked(decoder_.next(rows, tokens));
  }

 private:
  at::Tensor masked(const at::Tensor& logits) const {
    return logits.masked_fill(at::stack(rows_).logical_not(), kImpossible);
  }

  Decoder& decoder_;
  std::vector<at::Tensor> rows_;  // which tokens are possible, (V)
};

/// Different ones, of different numbers, with the end token 3; some tokens are in none.
std::vector<Tokens> some_tokens(std::size_t prompts) {
  std::vector<Tokens> result;
  for (std::size_t i = 0; i < prompts; ++i) {
    auto& tokens = result.emplace_back();
    for (int64_t token = 0; token < test::kDecoderWords; ++token) {
      if (token % 4 == 1) {
        continue;
      }
      if (token == 3 ||
          (token * 7 + static_cast<int64_t>(i) * 5) % 11 < 3 + static_cast<int64_t>(i)) {
        tokens.push_back(token);
      }
    }
  }
  return result;
}

std::vector<Prompt> with_output_tokens(std::vector<Prompt> prompts,
                                       const std::vector<Tokens>& tokens) {
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    prompts[i].output_tokens = tokens[i];
  }
  return prompts;
}

std::vector<SearchOptions> limited_searches() {
  const TokenRules rules{.repetition_penalty = 1.3,
                         .no_repeat_ngram_size = 2,
                         .bad_words = {{7}, {9, 4}},
                         .forced_eos_token = 3};
  std::vector<SearchOptions> result;
  for (const auto& own : {TokenRules{}, rules}) {
    result.push_back({.eos_ids = {3}, .rules = own});
    result.push_back({.eos_ids = {3},
                      .rules = own,
                      .sampling = {.is_enabled = true, .temperature = 1.5, .top_k = 6},
                      .num_return_sequences = 2});
    result.push_back({.eos_ids = {3}, .rules = own, .num_beams = 4, .num_return_sequences = 4});
    result.push_back({.eos_ids = {3},
                      .rules = own,
                      .num_beams = 4,
                      .num_beam_groups = 2,
                      .diversity_penalty = 1,
                      .num_return_sequences = 4});
  }
  return result;
}

std::shared_ptr<Model> translator(const std::string& family, const InferenceOptions& inference) {
  auto model = make_model(test::decoder_options(family_named(family)), 5);
  for (auto& item : model->named_parameters()) {
    if (item.key() == "logits_bias") {
      const auto wave = (at::arange(item->numel(), at::kFloat) * 1.7).sin();
      item.value().copy_(wave.view_as(item.value()));
    }
  }
  prepare_for_inference(*model, inference);
  return model;
}

void expect_same(const std::vector<std::vector<Hypothesis>>& found,
                 const std::vector<std::vector<Hypothesis>>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].size(), wanted[i].size());
    for (std::size_t j = 0; j < found[i].size(); ++j) {
      EXPECT_EQ(found[i][j].tokens, wanted[i][j].tokens);
      EXPECT_NEAR(found[i][j].score, wanted[i][j].score, 1e-4);
      EXPECT_NEAR(found[i][j].log_probability, wanted[i][j].log_probability, 1e-4);
    }
  }
}

struct Numbers {
  const char* name;
  InferenceOptions options;
};

class OutputTokens : public ::testing::TestWithParam<const char*> {
 protected:
  static std::vector<Numbers> numbers() {
    return {{"fp32", {}}, {"bf16", {.type = at::kBFloat16}}, {"int8", {.is_quantized = true}}};
  }
};

TEST_P(OutputTokens, AreASoftmaxOverTheseAlone) {
  const at::NoGradGuard guard;
  const auto prompts = test::decoder_prompts();
  const auto tokens = some_tokens(prompts.size());
  const auto limited = with_output_tokens(prompts, tokens);
  for (const auto& [name, inference] : numbers()) {
    SCOPED_TRACE(name);
    const auto model = translator(GetParam(), inference);
    const auto output = prepare_for_decoding(*model);
    for (const auto& options : limited_searches()) {
      ModelDecoder whole(*model, output, prompts);
      MaskedDecoder masked(whole, tokens);
      ModelDecoder decoder(*model, output, limited);
      const auto found = search(decoder, limited, options);
      expect_same(found, search(masked, prompts, options));
      for (std::size_t i = 0; i < found.size(); ++i) {
        for (const auto& hypothesis : found[i]) {
          for (const auto token : hypothesis.tokens) {
            EXPECT_TRUE(std::binary_search(tokens[i].begin(), tokens[i].end(), token)) << token;
          }
        }
      }
    }
  }
}

TEST_P(OutputTokens, OfOnePromptDoNotConcernAnother) {
  const at::NoGradGuard guard;
  const auto limited =
      with_output_tokens(test::decoder_prompts(), some_tokens(test::decoder_prompts().size()));
  const auto model = translator(GetParam(), {});
  const auto output = prepare_for_decoding(*model);
  for (const auto& options : limited_searches()) {
    ModelDecoder decoder(*model, output, limited);
    const auto together = search(decoder, limited, options);
    for (std::size_t i = 0; i < limited.size(); ++i) {
      const std::vector<Prompt> alone = {limited[i]};
      ModelDecoder own(*model, output, alone);
      expect_same({together[i]}, search(own, alone, options));
    }
  }
}

TEST_P(OutputTokens, ThatAreAllTokensChangeNoBit) {
  const at::NoGradGuard guard;
  const auto prompts = test::decoder_prompts();
  Tokens all(test::kDecoderWords);
  std::iota(all.begin(), all.end(), 0);
  const auto limited = with_output_tokens(prompts, std::vector<Tokens>(prompts.size(), all));
  for (const auto& [name, inference] : numbers()) {
    const auto model = translator(GetParam(), inference);
    const auto output = prepare_for_decoding(*model);
    EXPECT_TRUE(at::equal(ModelDecoder(*model, output, limited).first(),
                          ModelDecoder(*model, output, prompts).first()))
        << name;
  }
}

TEST_P(OutputTokens, NeedNoOutputMatrix) {
  const at::NoGradGuard guard;
  const auto prompts = test::decoder_prompts();
  const auto tokens = some_tokens(prompts.size());
  const auto limited = with_output_tokens(prompts, tokens);
  const auto model = translator(GetParam(), {});
  const DecodingOutput without;  // logits by Model::lm_logits
  const auto whole = ModelDecoder(*model, without, prompts).first();
  const auto part = ModelDecoder(*model, without, limited).first();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const auto count = static_cast<int64_t>(tokens[i].size());
    EXPECT_TRUE(at::equal(part[row].slice(0, 0, count),
                          whole[row].index_select(0, at::tensor(tokens[i], at::kLong))));
    EXPECT_TRUE((part[row].slice(0, count) == kImpossible).all().item<bool>());
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OutputTokens, ::testing::Values("t5", "bart", "marian"));

/// A row has the same bits with other prompts, so that scores do as well.
TEST(OutputSelection, RowsHaveTheSameBitsInEveryBatch) {
  const at::NoGradGuard guard;
  auto options = test::decoder_options(family_named("bart"));
  options.vocabulary = 1000;
  const auto model = make_model(options, 5);
  const auto output = prepare_for_decoding(*model);
  std::vector<Prompt> prompts(3);
  for (int64_t token = 0; token < 1000; token += 2) {
    for (int64_t i = 0; i < 3; ++i) {
      if ((token * token + 31 * i) % 7 < i + 2) {
        prompts[static_cast<std::size_t>(i)].output_tokens.push_back(token);
      }
    }
  }
  const auto states = at::randn({6, options.dim});
  const auto together = OutputSelection(*model, output, prompts).logits({states}, 2);
  for (int64_t i = 0; i < 3; ++i) {
    const std::vector<Prompt> one = {prompts[static_cast<std::size_t>(i)]};
    const auto alone =
        OutputSelection(*model, output, one).logits({states.slice(0, 2 * i, 2 * i + 2)}, 2);
    EXPECT_TRUE(at::equal(alone, together.slice(0, 2 * i, 2 * i + 2).slice(1, 0, alone.size(1))));
  }
}

TEST(OutputSelection, RefusesSomePromptsWithoutTokens) {
  const auto model = make_model(test::decoder_options(family_named("bart")), 5);
  const DecodingOutput output;
  std::vector<Prompt> prompts(2);
  prompts[0].output_tokens = {3};
  EXPECT_THROW(OutputSelection(*model, output, prompts), c10::Error);
  prompts[1].output_tokens = {test::kDecoderWords};
  EXPECT_THROW(OutputSelection(*model, output, prompts), c10::Error);
}

}  // namespace
}  // namespace weft::models
