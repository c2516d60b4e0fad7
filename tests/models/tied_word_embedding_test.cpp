// Word embeddings that share their weights with model.output, and which of both go together.
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/string_util.h"
#include "decoding/expect_decoding.h"
#include "models/config/config_json.h"
#include "models/weights/weight_map.h"
#include "support/folder.h"
#include "word_embeddings.h"

namespace weft::models {
namespace {

using namespace word_embeddings;

class TiedWordEmbeddings : public testing::TestWithParam<std::pair<WordCase, bool>> {
 protected:
  static ModelOptions tied_options() {
    auto options = options_with_words(GetParam().first);
    tie(options, GetParam().second ? ", tie_projections: true" : "");
    return options;
  }
};

std::vector<std::pair<WordCase, bool>> tied_cases() {
  std::vector<std::pair<WordCase, bool>> cases;
  for (const auto& each :
       {WordCase{"bert", Head::kMaskedLm}, WordCase{"albert", Head::kMaskedLm},
        WordCase{"xlm", Head::kMaskedLm}, WordCase{"gpt2", Head::kCausalLm},
        WordCase{"llama", Head::kCausalLm}, WordCase{"t5", Head::kConditional},
        WordCase{"bart", Head::kConditional}, WordCase{"feed_forward_lm", Head::kCausalLm},
        WordCase{"seq2seq_rnn", Head::kConditional}, WordCase{"elmo", Head::kBidirectionalLm}}) {
    cases.emplace_back(each, false);
    cases.emplace_back(each, true);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Families, TiedWordEmbeddings, testing::ValuesIn(tied_cases()));

at::Tensor loss_of(Model& model) {
  const auto states = word_states(model);
  const auto targets = at::arange(states.states.size(0)) * 2;
  return model.lm_loss(states, targets, test::TwoSequences(model.options()).context);
}

TEST_P(TiedWordEmbeddings, GradientsAreTheSumOfThoseOfBothUses) {
  const auto model = fitted(tied_options());
  auto apart_options = model->options();
  apart_options.tie_word_embeddings = false;
  apart_options.feed_forward_lm.tie = EmbeddingTie::kNone;
  apart_options.layer_types.output = choice_of(output_types().at("adaptive"), kClusterKeys);
  const auto apart = fitted(apart_options);
  const auto path = tied_path(*model);
  const auto own = model->named_parameters();
  const auto others = apart->named_parameters();
  const auto is_shared = [&](int64_t i) {
    return !own.contains(str_cat("output_layer.down_", i, ".weight"));
  };
  const auto down = [&](const auto& all, int64_t i) {
    return all[str_cat("output_layer.down_", i, ".weight")];
  };
  const auto clusters = clusters_at(path, *model);
  {
    const at::NoGradGuard guard;
    for (auto& parameter : apart->named_parameters()) {
      if (const auto* same = own.find(parameter.key())) {
        parameter.value().copy_(*same);
      }
    }
    auto head = others["output_layer.head.weight"];
    head.copy_(at::cat({clusters[0].words, own["output_layer.clusters"]}));
    for (int64_t i = 1; i < 3; ++i) {
      const auto& cluster = clusters[static_cast<std::size_t>(i)];
      auto up = others[str_cat("output_layer.up_", i, ".weight")];
      up.copy_(cluster.words);
      auto projection = down(others, i);
      projection.copy_(is_shared(i) ? cluster.projection.t() : down(own, i));
    }
  }
  ASSERT_TRUE(at::equal(apart->named_buffers()["output_layer.tokens"],
                        model->named_buffers()[path + "tokens"]));
  EXPECT_EQ(is_shared(1), GetParam().second);
  const auto loss = loss_of(*model);
  const auto expected = loss_of(*apart);
  EXPECT_TRUE(test::near(loss, expected, 1e-4));
  EXPECT_TRUE(test::near(model->lm_logits(word_states(*model)),
                         apart->lm_logits(word_states(*apart)), 1e-4));
  loss.backward();
  expected.backward();
  const auto near = [](const at::Tensor& a, const at::Tensor& b) { return test::near(a, b, 1e-3); };
  const auto head = others["output_layer.head.weight"].grad();
  EXPECT_TRUE(near(own["output_layer.clusters"].grad(), head.slice(0, 4)));
  const auto inputs = clusters_at(path, *apart);
  EXPECT_TRUE(near(clusters[0].words.grad(), inputs[0].words.grad() + head.slice(0, 0, 4)));
  for (int64_t i = 1; i < 3; ++i) {
    const auto& cluster = clusters[static_cast<std::size_t>(i)];
    const auto& input = inputs[static_cast<std::size_t>(i)];
    EXPECT_TRUE(
        near(cluster.words.grad(),
             input.words.grad() + others[str_cat("output_layer.up_", i, ".weight")].grad()));
    const auto outer = down(others, i).grad();
    EXPECT_TRUE(near(cluster.projection.grad(),
                     is_shared(i) ? input.projection.grad() + outer.t() : input.projection.grad()));
    EXPECT_TRUE(is_shared(i) || near(down(own, i).grad(), outer));
  }
}

TEST_P(TiedWordEmbeddings, AreStoredOnce) {
  const auto model = fitted(tied_options());
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto options = read_model_config(folder.path());
  EXPECT_TRUE(options.tie_word_embeddings);
  const auto loaded = load_model(folder.path(), options, 9);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  EXPECT_TRUE(at::equal(loss_of(*loaded.model), loss_of(*model)));
  int64_t stored = 0;
  for (const auto& tensor : weight_map(options)) {
    stored += tensor.parameter.starts_with("output_layer.") ? tensor.elements() : 0;
  }
  const auto width = clusters_at(tied_path(*model), *model).front().words.size(1);
  const auto downs = GetParam().second ? 0 : width * (width / 2 + width / 4);
  EXPECT_EQ(stored, 2 * width + downs);
}

TEST_P(TiedWordEmbeddings, PredictTheSameInDecoding) {
  const auto model = fitted(tied_options());
  if (generates(model->options())) {
    test::expect_decoded_as_read(*model);
  }
}

ModelOptions read_options(const std::string& model) {
  const auto document = config::Document::parse("model: {" + model + "}", "test.yaml");
  ModelOptions options;
  document.read([&](config::Section root) {
    auto section = root.section("model", {.help = ""});
    options = read_model_options(section);
  });
  return options;
}

// 247M in fairseq's list of models: 16 layers, a vocabulary of 267,744 tokens, weights and
// projections of adaptive embeddings and softmax shared.
TEST(WordEmbeddingSizes, WikiText103ModelOfThePaper) {
  const std::string stack =
      "type: gpt2, dim: 1024, layers: 16, attention: {heads: 8}, feed_forward: {width: 4096}, "
      "position: {type: sinusoidal}, embedding: {type: adaptive, cutoffs: [20000, 60000]}, ";
  const auto parameters = [&](const std::string& output) {
    auto options = read_options(stack + output);
    options.head = Head::kCausalLm;
    options.vocabulary = 267744;
    int64_t count = 0;
    for (const auto& tensor : weight_map(options)) {
      count += tensor.dtype ? 0 : tensor.elements();
    }
    return count;
  };
  const std::string output = "output: {type: adaptive, cutoffs: [20000, 60000]";
  // 16 blocks of 12,596,224, the last norm, 44,015,616 of the words, 1,376,256 of the projections,
  // and two clusters.
  const auto tied = 16 * 12596224 + 2048 + 44015616 + 1376256 + 2048;
  EXPECT_EQ(parameters(output + ", tie_projections: true}"), tied);
  EXPECT_EQ((tied + 500000) / 1000000, 247);
  EXPECT_EQ(parameters(output + "}"), tied + 1024 * (256 + 64));
  EXPECT_EQ(parameters(output + "}, tie_word_embeddings: false"),
            tied + 1024 * (256 + 64) + 44015616);
}

TEST(WordEmbeddingConfigs, TieWherePossible) {
  const std::string words = "embedding: {type: adaptive, cutoffs: [4, 9]}, ";
  const std::string same = "output: {type: adaptive, cutoffs: [4, 9]}";
  const auto shares = [](const ModelOptions& options) {
    return shares_embedding(options.layer_types, options.tie_word_embeddings);
  };
  EXPECT_TRUE(shares(read_options("type: gpt2, " + words + same)));
  EXPECT_TRUE(shares(read_options("type: t5, tie_word_embeddings: true, " + words + same)));
  EXPECT_FALSE(shares(read_options("type: gpt2, tie_word_embeddings: false, " + words + same)));
  EXPECT_FALSE(shares(read_options("type: gpt2, " + same)));
  EXPECT_FALSE(shares(read_options("type: gpt2, " + words + "output: {type: hierarchical}")));
  const std::string feed_forward = "type: feed_forward_lm, dim: 8, hidden: 8, ";
  EXPECT_TRUE(shares(read_options(feed_forward + "tie_embeddings: always, " + words + same)));
  EXPECT_TRUE(
      shares(read_options("type: feed_forward_lm, dim: 8, kind: bilinear, " + words + same)));
  EXPECT_FALSE(shares(read_options(feed_forward + words + same)));
}

class WordEmbeddingErrors : public testing::TestWithParam<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(
    Keys,
    WordEmbeddingErrors,
    testing::Values(
        std::pair{"type: gpt2, embedding: {type: adaptive}",
                  "model.tie_word_embeddings: true, must be false with embedding.type: adaptive"},
        std::pair{"type: bert, embedding: {type: characters}",
                  "model.tie_word_embeddings: true, must be false with embedding.type: characters"},
        std::pair{"type: gpt2, embedding: {type: adaptive}, output: {type: sampled}",
                  "model.tie_word_embeddings: true, must be false with embedding.type: adaptive"},
        std::pair{"type: gpt2, embedding: {type: adaptive}, output: {type: adaptive, cutoffs: [9]}",
                  "model.tie_word_embeddings: cutoffs and factor of output and embedding must be "
                  "the same"},
        std::pair{"type: gpt2, embedding: {type: adaptive}, output: {type: adaptive, factor: 2}",
                  "cutoffs and factor of output and embedding must be the same"},
        std::pair{"type: gpt2, output: {type: adaptive, tie_projections: true}",
                  "output.tie_projections has no effect"},
        std::pair{"type: gpt2, tie_word_embeddings: false, embedding: {type: adaptive}, output: "
                  "{type: adaptive, tie_projections: true}",
                  "output.tie_projections has no effect"},
        std::pair{"type: gpt2, tie_word_embeddings: true, embedding: {type: adaptive}, output: "
                  "{type: hierarchical}",
                  "model.tie_word_embeddings: has no effect with output.type: hierarchical"},
        std::pair{"type: bart, embedding: {type: adaptive}",
                  "model.embedding: tie_word_embeddings of bart is always true, must be false with "
                  "embedding.type: adaptive, which has no table of words to tie the output matrix "
                  "to; possible with output.type: adaptive"},
        std::pair{"type: reformer, embedding: {type: adaptive}, output: {type: adaptive, "
                  "tie_projections: true}",
                  "model.output: output.tie_projections has no effect"},
        std::pair{"type: feed_forward_lm, dim: 8, hidden: 8, tie_embeddings: always, embedding: "
                  "{type: adaptive}",
                  "model.tie_embeddings: the output matrix cannot be the word embeddings"},
        std::pair{"type: feed_forward_lm, dim: 8, hidden: 8, tie_embeddings: init, embedding: "
                  "{type: adaptive}",
                  "model.tie_embeddings: the output matrix cannot be the word embeddings"},
        std::pair{"type: feed_forward_lm, dim: 8, hidden: 8, tie_embeddings: always, embedding: "
                  "{type: adaptive}, output: {type: adaptive, factor: 2}",
                  "model.tie_embeddings: cutoffs and factor of output and embedding"},
        std::pair{"type: feed_forward_lm, dim: 8, kind: bilinear, embedding: {type: characters}",
                  "model.kind: the output matrix cannot be the word embeddings"},
        std::pair{"type: gpt2, embedding: {type: adaptive, cutoffs: [3, 2]}",
                  "model.embedding.cutoffs: each must be above the one before it"},
        std::pair{"type: gpt2, embedding: {type: adaptiv}", "did you mean 'adaptive'?"},
        std::pair{"type: gpt2, embedding: {cutoffs: [3]}", "model.embedding.cutoffs: "}));

TEST_P(WordEmbeddingErrors, AreNamed) {
  const auto& [keys, message] = GetParam();
  try {
    read_options(keys);
    FAIL() << "no error";
  } catch (const config::Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(WordEmbeddingConfigs, StoredTiesThatAreNotPossibleAreRefused) {
  auto options = options_with_words({"gpt2", Head::kCausalLm});
  tie(options);
  auto json = json_from_options(options, formats::DType::kF32);
  EXPECT_EQ(options_from_json(json, "config.json").layer_types, options.layer_types);
  json["weft_layer_types"]["output"]["cutoffs"] = {4, 8};
  EXPECT_THROW(options_from_json(json, "config.json"), UserError);
}

}  // namespace
}  // namespace weft::models
