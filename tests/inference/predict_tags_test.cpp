#include "inference/predict_tags.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "batching/device_batch.h"
#include "nn/document/document_encoder.h"
#include "nn/pooling/sequence_pooling.h"
#include "objectives/batches.h"
#include "support/toy_tokenizer.h"

namespace weft::inference {
namespace {

using Words = std::vector<std::string>;

class PredictTagsTest : public ::testing::Test {
 protected:
  static models::ModelOptions options() {
    auto options = test::tiny_model(models::Head::kToken);  // of 12 tokens
    options.labels = {"B-X", "I-X", "O"};
    return options;
  }

  std::vector<TagPrediction> tags(const std::vector<Words>& sentences,
                                  const TagPredictOptions& options = {}) {
    return predict_tags(*model_, tokenizer_, sentences, options);
  }

  test::ToyTokenizer tokenizer_{Words{"a", "b", "c", "d", "##x"}};
  std::shared_ptr<models::Model> model_ = models::make_model(options(), 1);
};

TEST_F(PredictTagsTest, ReadsTheFirstPieceOfEachWord) {
  const auto found = tags({{"a##x", "b", "c##x"}})[0];
  data::Batch batch;
  data::Example example;
  example.ids = {2, 5, 9, 6, 7, 9, 3};
  example.token_type_ids.resize(7);
  batch.add(0, example);
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const at::NoGradGuard guard;
  const auto shares = model_
                          ->token_logits(model_->hidden(device_batch.input, device_batch.context),
                                         device_batch.context)
                          .softmax(1);
  const std::vector<int64_t> rows = {1, 3, 4};
  ASSERT_EQ(found.words.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found.words[i].tag, shares[rows[i]].argmax().item<int64_t>());
    EXPECT_NEAR(found.words[i].score, shares[rows[i]].max().item<double>(), 1e-6);
  }
  EXPECT_FALSE(found.was_split);
}

TEST(PredictSentenceTags, ReadsTheLastTokenOfEachSentence) {
  auto options = test::tiny_model(models::Head::kToken);
  options.labels = {"no", "yes"};
  options.document.emplace();
  options.document->encoder = nn::default_component(nn::document_encoders(), "hibert");
  options.document->sentences = 2;
  options.document->sentence_length = 5;
  options.document->sentence_vector = nn::default_component(nn::sequence_poolings(), "last");
  options.document->pooling = nn::default_component(nn::sequence_poolings(), "mean");
  const auto model = models::make_model(options, 1);
  const test::ToyTokenizer tokenizer{Words{"a", "b", "c", "d", "##x"}};
  const std::vector<Words> documents = {{"a b", "c"}, {}, {"d"}, {"a b c d", "b", "c"}};
  const auto found = predict_sentence_tags(*model, tokenizer, documents);
  data::Batch batch;
  data::Example example;
  example.ids = {2, 5, 6, 3, 2, 7, 3};
  example.token_type_ids.resize(7);
  example.sentence_lengths = {4, 3};
  batch.add(0, example);
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const at::NoGradGuard guard;
  const auto shares = model
                          ->token_logits(model->hidden(device_batch.input, device_batch.context),
                                         device_batch.context)
                          .softmax(1);
  const std::vector<int64_t> rows = {3, 6};
  ASSERT_EQ(found[0].sentences.size(), 2U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found[0].sentences[i].tag, shares[rows[i]].argmax().item<int64_t>());
    EXPECT_NEAR(found[0].sentences[i].score, shares[rows[i]].max().item<double>(), 1e-6);
  }
  EXPECT_FALSE(found[0].was_truncated);
  EXPECT_TRUE(found[1].sentences.empty());
  EXPECT_EQ(found[2].sentences.size(), 1U);
  ASSERT_EQ(found[3].sentences.size(), 3U);
  EXPECT_TRUE(found[3].was_truncated);
  EXPECT_EQ(found[3].sentences[2].tag, -1);
  const auto apart = predict_sentence_tags(*model, tokenizer, documents, {.batch_tokens = 1});
  for (std::size_t i = 0; i < documents.size(); ++i) {
    for (std::size_t sentence = 0; sentence < documents[i].size(); ++sentence) {
      EXPECT_NEAR(found[i].sentences[sentence].score, apart[i].sentences[sentence].score, 1e-6);
    }
  }
}

TEST_F(PredictTagsTest, LongSentencesLoseNoWord) {
  const Words words = {"a##x", "b##x", "c", "d", "a", "b", "c", "d", "a##x", "b", "c", "d", "a"};
  const auto found = tags({words, {}, {"b"}});
  EXPECT_TRUE(found[0].was_split);
  for (const auto& word : found[0].words) {
    EXPECT_GE(word.tag, 0);
    EXPECT_GT(word.score, 0);
  }
  EXPECT_TRUE(found[1].words.empty());
  // The first part has ten pieces.
  const auto first = tags({Words(words.begin(), words.begin() + 8)})[0];
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(first.words[i].tag, found[0].words[i].tag);
    EXPECT_NEAR(first.words[i].score, found[0].words[i].score, 1e-6);
  }
}

TEST_F(PredictTagsTest, ResultsDoNotDependOnBatching) {
  const std::vector<Words> sentences = {{"a", "b"}, {"c##x"}, {"d", "d", "a"}};
  const auto together = tags(sentences);
  const auto apart = tags(sentences, {.batch_tokens = 1});
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    for (std::size_t word = 0; word < sentences[i].size(); ++word) {
      EXPECT_NEAR(together[i].words[word].score, apart[i].words[word].score, 1e-6);
    }
  }
}

TEST_F(PredictTagsTest, ShowsAttentionOfEachSpan) {
  const auto found = tags({{"a", "b##x"}, Words(11, "a")}, {.attention_layers = {0}});
  ASSERT_EQ(found[0].attention.size(), 1U);
  EXPECT_EQ(found[0].attention[0].ids, (std::vector<int64_t>{2, 5, 6, 9, 3}));
  EXPECT_EQ(found[1].attention.size(), 2U);
}

TEST_F(PredictTagsTest, AnEntityHasTheMeanScoreOfItsWords) {
  const TagPrediction prediction{.words = {{.tag = 0, .score = 0.5},
                                           {.tag = 1, .score = 1.0},
                                           {.tag = 2, .score = 0.9},
                                           {.tag = 0, .score = 0.75}},
                                 .attention = {}};
  const auto found = entities_of(prediction, metrics::TagScheme(options().labels));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].entity.end, 2);
  EXPECT_DOUBLE_EQ(found[0].score, 0.75);
  EXPECT_DOUBLE_EQ(found[1].score, 0.75);
}

}  // namespace
}  // namespace weft::inference
