#include "inference/embed.h"

#include <fstream>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/tokenizer.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "support/tensors.h"
#include "support/toy_tokenizer.h"

namespace weft::inference {
namespace {

const std::string kEmbedReference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/sentences/";

/// The directory that scripts/make_sentence_reference.py wrote.
class EmbedTest : public ::testing::Test {
 protected:
  EmbedTest()
      : sentence(models::read_sentence_model(kEmbedReference + "model")),
        tokenizer(data::load_tokenizer(sentence.directory)) {
    auto options = models::read_model_config(sentence.directory);
    options.head = models::Head::kNone;
    model = models::load_model(sentence.directory, options, 0).model;
    std::ifstream file(kEmbedReference + "lines.txt");
    for (std::string line; std::getline(file, line);) {
      lines.push_back(line);
    }
    std::ifstream(kEmbedReference + "expected.json") >> expected;
  }

  static at::Tensor rows(const nlohmann::json& list) {
    std::vector<at::Tensor> rows;
    for (const auto& row : list) {
      rows.push_back(at::tensor(row.get<std::vector<double>>(), at::kDouble));
    }
    return at::stack(rows);
  }

  models::SentenceModel sentence;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  std::shared_ptr<models::Model> model;
  std::vector<std::string> lines;
  nlohmann::json expected;
};

TEST_F(EmbedTest, EveryPoolingEqualsItsDefinition) {
  for (const auto& [name, pooling] : models::poolings()) {
    auto options = sentence.options;
    options.poolings = {pooling};
    options.projections = {};
    options.normalizes = false;
    const auto found = embed(*model, *tokenizer, lines, options).vectors;
    EXPECT_TRUE(test::near(found, rows(expected["pooled"][std::string(name)]), 1e-5)) << name;
  }
}

TEST_F(EmbedTest, AllModulesTogetherEqualTheReference) {
  const auto found = embed(*model, *tokenizer, lines, sentence.options);
  EXPECT_TRUE(test::near(found.vectors, rows(expected["whole"]), 1e-5));
  EXPECT_EQ(found.truncated, 1);
}

TEST_F(EmbedTest, TruncatesOnTheLeftLikeTheTokenizer) {
  const test::LeftTruncatingTokenizer cutter({"a", "b", "c", "d", "e"});
  models::SentenceOptions options = sentence.options;
  options.length = 5;  // two of them special
  const auto found = embed(*model, cutter, {"a b c d e", "c d e"}, options);
  EXPECT_EQ(found.truncated, 1);
  EXPECT_TRUE(test::near(found.vectors[0], found.vectors[1], 1e-6));
}

TEST_F(EmbedTest, VectorsDoNotDependOnTheBatch) {
  const auto together = embed(*model, *tokenizer, lines, sentence.options).vectors;
  const auto apart = embed(*model, *tokenizer, lines, sentence.options, 1).vectors;
  EXPECT_TRUE(test::near(apart, together, 1e-6));
}

TEST_F(EmbedTest, PromptIsAddedBeforeTheText) {
  auto options = sentence.options;
  options.prompt = "a big ";
  const auto found = embed(*model, *tokenizer, {"dog"}, options).vectors;
  EXPECT_TRUE(
      test::near(found, embed(*model, *tokenizer, {"a big dog"}, sentence.options).vectors));
}

TEST_F(EmbedTest, TextsWithoutTokensHaveVectorsOfZeros) {
  const auto bare = data::load_tokenizer(std::string(WEFT_SOURCE_DIR) +
                                         "/tests/reference/tokenizers/gpt2");  // adds no tokens
  auto options = test::tiny_options(models::family_named("gpt2"), models::Head::kNone);
  options.vocabulary = bare->size();
  const auto gpt = models::make_model(options, 1);
  const auto found = embed(*gpt, *bare, {"the loom", "", "weft"}, {});
  EXPECT_EQ(found.empty_texts, 1);
  const auto alone = embed(*gpt, *bare, {"the loom", "weft"}, {}).vectors;
  EXPECT_TRUE(
      test::near(found.vectors, at::stack({alone[0], at::zeros({options.dim}), alone[1]}), 1e-6));
  EXPECT_TRUE(at::equal(embed(*gpt, *bare, {""}, {}).vectors, at::zeros({1, options.dim})));
}

TEST_F(EmbedTest, NoTextsGiveNoVectors) {
  EXPECT_FALSE(embed(*model, *tokenizer, {}, sentence.options).vectors.defined());
}

}  // namespace
}  // namespace weft::inference
