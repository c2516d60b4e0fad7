#include <string>

#include <gtest/gtest.h>

#include "models/config/config_json.h"
#include "models/config/family.h"
#include "models/config/options.h"
#include "models/config/stack_keys.h"
#include "nn/document/document_encoder.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/position/position.h"
#include "support/config.h"

namespace weft::models {
namespace {

ModelOptions read(const std::string& yaml, const ModelOptions* base = nullptr) {
  auto section = config::Document::parse(yaml, "test.yaml").root();
  return read_model_options(section, base);
}

std::string message(const std::string& yaml, const ModelOptions* base = nullptr) {
  return test::message_of<config::Error>([&] { read(yaml, base); });
}

TEST(DocumentKeys, DefaultsAreThoseOfTheType) {
  EXPECT_FALSE(read("{type: bert}").document);
  EXPECT_FALSE(read("{type: bert, document: {type: none}}").document);
  const auto hibert = *read("{type: bert, document: {type: hibert}}").document;
  EXPECT_EQ(hibert.layers, 2);
  EXPECT_EQ(hibert.sentences, 30);
  EXPECT_EQ(hibert.sentence_length, 50);
  EXPECT_EQ(hibert.sentence_vector->type, "last");
  EXPECT_EQ(hibert.pooling->type, "mean");
  const auto hi = *read("{type: bert, document: {type: hi_transformer}}").document;
  EXPECT_EQ(hi.sentence_vector->type, "attention");
  EXPECT_EQ(hi.pooling->type, "attention");
}

TEST(DocumentKeys, LayersHaveAttentionAndPositionsOfTheirOwn) {
  const auto options = read(
      "{type: bert, document: {type: hibert, layers: 1, sentences: 8, sentence_length: 20, "
      "sentence_vector: cls, pooling: max, attention: {type: window, window: 2}, position: [{type: "
      "sinusoidal}, {type: t5}]}}");
  const auto& types = options.document->types;
  EXPECT_EQ(types.attention.cycle.front().type, "window");
  ASSERT_EQ(types.positions.size(), 2U);
  EXPECT_EQ(types.positions[1].type, "t5");
  EXPECT_TRUE(options.layer_types.empty());
  EXPECT_TRUE(has_own_parts(options));
  EXPECT_FALSE(is_known_to_transformers(options));
  EXPECT_EQ(text_length(options), 160);
}

TEST(DocumentKeys, ErrorsNameTheKey) {
  EXPECT_EQ(message("{type: bert, document: {type: hibirt}}"),
            "test.yaml:1:31: document.type: 'hibirt' is not one of none, hibert, "
            "hi_transformer, did you mean 'hibert'?");
  EXPECT_EQ(message("{type: bert, document: {layers: 1}}"),
            "test.yaml:1:33: document.layers: has no effect without document.type");
  EXPECT_EQ(
      message("{type: bert, document: {type: hibert, stacks: 2}}"),
      "test.yaml:1:39: document.stacks: unknown key 'stacks', allowed: type, layers, sentences, "
      "sentence_length, decoder_layers, sentence_vector, pooling, attention, position");
  EXPECT_EQ(message("{type: bert, layers: 6, document: {type: hi_transformer}}"),
            "test.yaml:1:42: document.type: hi_transformer with stacks: 2 needs model.layers "
            "to be a multiple of 4, found 6");
  EXPECT_EQ(message("{type: bert, position: {length: 40}, document: {type: hibert}}"),
            "test.yaml:1:38: document.sentence_length: 50, must be at most the 40 of "
            "model.position.length");
  EXPECT_EQ(message("{type: bert, document: {type: hibert, sentences: 0}}"),
            "test.yaml:1:50: document.sentences: 0, must be an integer in [1, 4096]");
  EXPECT_EQ(message("{type: bert, document: {type: hibert, sentence_vector: first}}"),
            "test.yaml:1:56: document.sentence_vector: 'first' is not one of cls, last, mean, max, "
            "attention, multihead_attention");
  EXPECT_EQ(message("{type: big_bird, document: {type: hibert}}"),
            "test.yaml:1:35: document.type: is not possible with model.type: big_bird");
  for (const std::string family : {"bert", "modernbert"}) {
    EXPECT_EQ(message("{type: " + family +
                      ", classifier_pooling: mean, layers: 2, document: {type: hibert}}"),
              "test.yaml:1:" + std::to_string(30 + family.size()) +
                  ": classifier_pooling: has no effect with document.type; set document.pooling");
  }
  EXPECT_EQ(message("{type: bert, early_exit: {type: entropy}, document: {type: hibert}}"),
            "test.yaml:1:60: document.type: is not possible with early_exit");
  EXPECT_TRUE(message("{type: gpt2, document: {type: hibert}}")
                  .starts_with("test.yaml:1:14: document: unknown key 'document', allowed: "));
}

TEST(DocumentKeys, AStoredDocumentEncoderStays) {
  const auto base = read("{type: bert, layers: 4, document: {type: hi_transformer, stacks: 1}}");
  constexpr auto kContradicts =
      "test.yaml:1:2: document: contradicts the model in init_from; omit it";
  EXPECT_EQ(read("{}", &base).document, base.document);
  EXPECT_EQ(message("{document: {layers: 3}}", &base), kContradicts);
  EXPECT_EQ(message("{document: {type: none}}", &base), kContradicts);
  const auto plain = read("{type: bert, layers: 4}");
  EXPECT_TRUE(read("{document: {type: hibert}}", &plain).document) << "a new part of the head";
}

}  // namespace
}  // namespace weft::models
