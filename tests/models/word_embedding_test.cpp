// model.embedding in all families with word embeddings.
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "models/config/config_json.h"
#include "models/weights/weight_map.h"
#include "support/folder.h"
#include "word_embeddings.h"

namespace weft::models {
namespace {

using namespace word_embeddings;

class WordEmbeddings : public testing::TestWithParam<WordCase> {};

INSTANTIATE_TEST_SUITE_P(Families,
                         WordEmbeddings,
                         testing::Values(WordCase{"bert", Head::kMaskedLm},
                                         WordCase{"albert", Head::kMaskedLm},
                                         WordCase{"roberta", Head::kSequence},
                                         WordCase{"electra", Head::kMaskedLm},
                                         WordCase{"xlm", Head::kMaskedLm},
                                         WordCase{"reformer", Head::kCausalLm},
                                         WordCase{"gpt2", Head::kCausalLm},
                                         WordCase{"llama", Head::kCausalLm},
                                         WordCase{"t5", Head::kConditional},
                                         WordCase{"marian", Head::kConditional},
                                         WordCase{"feed_forward_lm", Head::kCausalLm},
                                         WordCase{"seq2seq_rnn", Head::kConditional},
                                         WordCase{"elmo", Head::kBidirectionalLm}));

TEST_P(WordEmbeddings, EqualAPlainModelWithTheirTables) {
  const auto model = fitted(options_with_words(GetParam()));
  auto plain_options = model->options();
  plain_options.layer_types.embedding.reset();
  const auto plain = make_model(plain_options, 3);
  const auto own = model->named_parameters();
  std::map<std::string, std::string> tables;
  {
    const at::NoGradGuard guard;
    for (auto& parameter : plain->named_parameters()) {
      auto value = parameter.value();
      const auto path = path_of_table(parameter.key(), *model);
      if (path.empty()) {
        value.copy_(own[parameter.key()]);
        continue;
      }
      tables[parameter.key()] = path;
      for (const auto& [tokens, words, projection] : clusters_at(path, *model)) {
        value.index_copy_(0, tokens, at::matmul(words, projection.t()));
      }
    }
  }
  EXPECT_EQ(
      tables.size(),
      is_encoder_decoder(plain_options) && plain_options.family != family_named("t5") ? 2U : 1U);
  const auto found = word_states(*model).states;
  const auto expected = word_states(*plain).states;
  EXPECT_TRUE(test::near(found, expected, 1e-4));
  weighted_sum(found).backward();
  weighted_sum(expected).backward();
  for (const auto& parameter : plain->named_parameters()) {
    const auto gradient = parameter.value().grad();
    if (!gradient.defined()) {
      continue;
    }
    if (!tables.contains(parameter.key())) {
      EXPECT_TRUE(test::near(own[parameter.key()].grad(), gradient, 1e-3)) << parameter.key();
      continue;
    }
    for (const auto& [tokens, words, projection] :
         clusters_at(tables.at(parameter.key()), *model)) {
      const auto rows = gradient.index_select(0, tokens);
      EXPECT_TRUE(test::near(words.grad(), at::matmul(rows, projection), 1e-3));
      EXPECT_TRUE(test::near(projection.grad(), at::matmul(rows.t(), words), 1e-3));
    }
  }
}

TEST_P(WordEmbeddings, AreStoredWithTheirOrder) {
  for (const std::string type : {"adaptive", "characters"}) {
    const auto model = fitted(options_with_words(GetParam(), type));
    const test::Folder folder;
    save_model(folder.path(), *model, formats::DType::kF32);
    EXPECT_EQ(formats::read_json(folder.path() + "/config.json")["model_type"], "weft");
    const auto options = read_model_config(folder.path());
    EXPECT_EQ(options.layer_types, model->options().layer_types);
    const auto loaded = load_model(folder.path(), options, 9);
    EXPECT_TRUE(loaded.missing_keys.empty());
    EXPECT_TRUE(loaded.unexpected_keys.empty());
    const auto states = word_states(*model).states;
    EXPECT_TRUE(at::equal(word_states(*loaded.model).states, states)) << type;
    const auto fresh = make_model(options, 3);
    test::fill_parameters(*fresh);
    EXPECT_FALSE(at::equal(word_states(*fresh).states, states)) << type;
  }
}

TEST_P(WordEmbeddings, HaveNoTable) {
  const auto model = make_model(options_with_words(GetParam()), 3);
  EXPECT_FALSE(model->input_embeddings().defined());
  int64_t parameters = 0;
  for (const auto& parameter : model->named_parameters()) {
    parameters += parameter.value().numel();
  }
  int64_t listed = 0;
  for (const auto& [name, size] : module_sizes(model->options())) {
    listed += size;
  }
  for (const auto& buffer : model->named_buffers()) {  // the order is stored like a parameter
    parameters += buffer.key().ends_with("tokens") ? buffer.value().numel() : 0;
  }
  EXPECT_EQ(listed, parameters);
}

/// The most frequent token in the buffer of this name, after a fit to one example.
int64_t first_token(const ModelOptions& options, const std::string& buffer) {
  const auto model = make_model(options, 1);
  const std::vector<int64_t> source = {7, 7, 7, 8};
  const std::vector<int64_t> ids = {3, 9, 9};
  const std::vector<int64_t> targets = {9, 9, 4, 4, 4};
  model->fit(
      {.visit =
           [&](const auto& visit) { visit({.ids = ids, .targets = targets, .source = source}); },
       .directory = ""});
  return model->named_buffers()[buffer][0].item<int64_t>();
}

TEST(WordEmbeddingCounts, AreOfTheTokensThatAreLookedUp) {
  for (const auto& [family, encoder, decoder] :
       {std::tuple{"bart", "embeddings.word.tokens", "decoder_embeddings.word.tokens"},
        std::tuple{"seq2seq_rnn", "source_words.tokens", "target_words.tokens"}}) {
    auto options = options_with_words({family, Head::kConditional});
    EXPECT_EQ(first_token(options, encoder), 7) << family;
    EXPECT_EQ(first_token(options, decoder), 9) << family;  // 9 9, without the targets
    options.decoder.share_encoder_decoder_embeddings = true;
    EXPECT_EQ(first_token(options, encoder), 7) << family;
    tie(options);
    EXPECT_EQ(first_token(options, encoder), 9) << family;  // 9 9, and as many in the targets
  }
  auto causal = options_with_words({"gpt2", Head::kCausalLm});
  EXPECT_EQ(first_token(causal, "embeddings.word.tokens"), 9);
  causal.layer_types.output = choice_of(output_types().at("adaptive"), kClusterKeys);
  EXPECT_EQ(first_token(causal, "output_layer.tokens"), 4);
}

TEST(WordEmbeddingInit, VectorsBeginWithTheSpreadOfATable) {
  for (const auto& [family, head] :
       {std::pair{"gpt2", Head::kCausalLm}, std::pair{"t5", Head::kConditional},
        std::pair{"feed_forward_lm", Head::kCausalLm},
        std::pair{"seq2seq_rnn", Head::kConditional}}) {
    auto options = options_with_words({family, head});
    options.vocabulary = 900;
    options.dim = 64;
    options.feed_forward_lm.hidden = 64;
    options.layer_types.embedding =
        choice_of(nn::token_embeddings().at("adaptive"), "cutoffs: [300, 600], factor: 2");
    const auto model = make_model(options, 1);
    for (const auto& [tokens, words, projection] : clusters_at(tied_path(*model), *model)) {
      EXPECT_NEAR(at::matmul(words, projection.t()).std().item<double>(), options.init_std,
                  0.1 * options.init_std)
          << family;
      EXPECT_NEAR(words.std().item<double>(), options.init_std, 0.05 * options.init_std);
    }
  }
}

}  // namespace
}  // namespace weft::models
