#include "models/sentence.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "formats/error.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

const std::string kSentenceReference =
    std::string(WEFT_SOURCE_DIR) + "/tests/reference/sentences/model";

/// A modifiable copy of the reference directory.
class SentenceTest : public ::testing::Test {
 protected:
  SentenceTest() { fs::copy(kSentenceReference, path(), fs::copy_options::recursive); }

  std::string path() const { return folder_.path("model"); }
  void write(const std::string& name, const std::string& content) const {
    folder_.write("model/" + name, content);
  }
  SentenceOptions options() const { return read_sentence_model(path()).options; }
  std::string error() const {
    const auto message = test::message_of<formats::Error>([&] { options(); });
    const auto begin = message.find(path());
    return begin == std::string::npos ? message : message.substr(begin + path().size() + 1);
  }

 private:
  test::Folder folder_;
};

TEST_F(SentenceTest, ReadsEveryModule) {
  const auto model = read_sentence_model(path());
  EXPECT_TRUE(model.is_declared);
  EXPECT_EQ(model.directory, path());
  EXPECT_EQ(model.options.length, 12);
  EXPECT_TRUE(model.options.lowercases);
  EXPECT_TRUE(model.options.normalizes);
  EXPECT_EQ(model.options.poolings,
            (std::vector{nn::SentencePooling::kClsToken, nn::SentencePooling::kMax,
                         nn::SentencePooling::kMean, nn::SentencePooling::kMeanSqrtLength,
                         nn::SentencePooling::kWeightedMean, nn::SentencePooling::kLastToken}));
  ASSERT_EQ(model.options.projections.size(), 1U);
  EXPECT_EQ(model.options.projections[0].weight.sizes(), (std::vector<int64_t>{5, 48}));
  EXPECT_EQ(model.options.projections[0].activation, kernels::Activation::kTanh);
}

TEST_F(SentenceTest, ReadsPoolingInEverySpelling) {
  const auto pooled = [&](const std::string& json) {
    write("1_Pooling/config.json", json);
    return options().poolings;
  };
  EXPECT_EQ(pooled(R"({"pooling_mode": "mean"})"), std::vector{nn::SentencePooling::kMean});
  EXPECT_EQ(pooled(R"({"pooling_mode": "cls_token"})"),
            std::vector{nn::SentencePooling::kClsToken});
  EXPECT_EQ(pooled(R"({"pooling_mode": ["max", "lasttoken"]})"),
            (std::vector{nn::SentencePooling::kMax, nn::SentencePooling::kLastToken}));
  EXPECT_EQ(pooled(R"({"pooling_mode": "mean_sqrt_len_tokens"})"),
            std::vector{nn::SentencePooling::kMeanSqrtLength});
  EXPECT_EQ(pooled(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})"),
            std::vector{nn::SentencePooling::kClsToken});
  EXPECT_EQ(pooled("{}"), std::vector{nn::SentencePooling::kMean});
}

TEST_F(SentenceTest, TakesTheTransformerFromItsFolderAndTheDefaultPrompt) {
  fs::create_directory(path() + "/0_Transformer");
  write("modules.json",
        R"([{"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"},
            {"path": "1_Pooling", "type": "sentence_transformers.sentence_transformer.modules.pooling.Pooling"}])");
  write("config_sentence_transformers.json",
        R"({"prompts": {"query": "query: "}, "default_prompt_name": "query"})");
  const auto model = read_sentence_model(path());
  EXPECT_EQ(model.directory, path() + "/0_Transformer");
  EXPECT_EQ(model.options.prompt, "query: ");
  EXPECT_FALSE(model.options.normalizes);
  EXPECT_FALSE(model.options.length);
}

// As written by sentence-transformers 6: only the tokenizer has the length.
TEST_F(SentenceTest, LengthDefaultsToTheTokenizer) {
  const auto length = [&](const std::string& tokenizer) {
    write("tokenizer_config.json", tokenizer);
    return read_sentence_model(path()).options.length;
  };
  const auto said = length(R"({"model_max_length": 7})");
  EXPECT_TRUE(said && *said != 7);
  fs::remove(path() + "/sentence_bert_config.json");
  EXPECT_EQ(length(R"({"model_max_length": 7})"), 7);
  EXPECT_FALSE(length(R"({"model_max_length": 1000000000000000019884624838656})"));
  EXPECT_FALSE(length(R"({"model_max_length": null})"));
  fs::remove(path() + "/modules.json");
  EXPECT_EQ(length(R"({"model_max_length": 7})"), 7);
}

TEST_F(SentenceTest, PlainDirectoryIsPooledByTheMean) {
  fs::remove(path() + "/modules.json");
  const auto model = read_sentence_model(path());
  EXPECT_FALSE(model.is_declared);
  EXPECT_EQ(model.options.poolings, std::vector{nn::SentencePooling::kMean});
  EXPECT_FALSE(model.options.normalizes);
  EXPECT_TRUE(sentence_files(path()).empty());
}

TEST_F(SentenceTest, NamesTheFilesBesideTheModel) {
  EXPECT_EQ(sentence_files(path()),
            (std::vector<std::string>{"modules.json", "sentence_bert_config.json", "1_Pooling",
                                      "2_Dense"}));
}

TEST_F(SentenceTest, RefusesWhatItDoesNotCompute) {
  write("1_Pooling/config.json", R"({"pooling_mode": "median"})");
  EXPECT_EQ(error(),
            "1_Pooling/config.json: pooling_mode: 'median' is not one of cls, max, mean, "
            "mean_sqrt_len_tokens, weightedmean, lasttoken");
  write("modules.json",
        R"([{"path": "", "type": "a.Transformer"}, {"path": "1", "type": "a.CNN"}])");
  EXPECT_EQ(error(),
            "modules.json: module 'CNN', must be Transformer, Pooling, Dense (any number) and "
            "Normalize in this order");
  write("modules.json", R"([{"path": "../x", "type": "a.Transformer"}])");
  EXPECT_NE(error().find("must be a directory next to the file"), std::string::npos);
  write("modules.json", R"([{"path": "", "type": "a.Transformer"}])");
  EXPECT_EQ(error(), "modules.json: no Pooling after the Transformer");
  write("modules.json", "{}");
  EXPECT_NE(error().find("must be a list of objects"), std::string::npos);
}

TEST_F(SentenceTest, RefusesAnUnknownActivation) {
  write("2_Dense/config.json", R"({"activation_function": "torch.nn.Hardswish"})");
  EXPECT_EQ(error(),
            "2_Dense/config.json: activation_function: 'torch.nn.Hardswish' is not one of "
            "Identity, Tanh, ReLU, GELU, SiLU");
}

}  // namespace
}  // namespace weft::models
