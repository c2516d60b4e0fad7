#include "models/weights/weight_map.h"

#include <map>

#include <gtest/gtest.h>

#include "models/config/family.h"
#include "models/directory.h"
#include "models/tiny.h"

namespace weft::models {
namespace {

// Every row of every parameter has exactly one place in the file.
TEST(Names, CoverEveryParameterOnce) {
  for (const auto family : test::transformers()) {
    for (const auto& head_name : heads_of(family)) {
      for (const auto place : {NormPlacement::kPost, NormPlacement::kPre}) {
        if (!has_norm_placement(family, place)) {
          continue;
        }
        for (const bool is_tied : {true, false}) {
          auto options = test::tiny_options(family, head_name.head);
          options.norm_placement = place;
          options.tie_word_embeddings = is_tied;
          std::map<std::string, int64_t> rows;
          for (const auto& tensor : weight_map(options)) {
            EXPECT_EQ(tensor.first_row, rows[tensor.parameter]) << tensor.name;
            rows[tensor.parameter] += tensor.shape[0];
          }
          const auto model = make_model(options, 1);
          EXPECT_EQ(rows.size(), model->named_parameters().size()) << architecture_of(options);
          for (const auto& item : model->named_parameters()) {
            EXPECT_EQ(rows[item.key()], item.value().size(0)) << item.key();
          }
        }
      }
    }
  }
}

TEST(Names, QueryKeyAndValueAreThirdsOfOneMatrix) {
  int64_t found = 0;
  for (const auto& tensor : weight_map(test::tiny_options())) {
    if (tensor.name == "bert.encoder.layer.1.attention.self.value.weight") {
      EXPECT_EQ(tensor.parameter, "layers.1.attention.qkv.weight");
      EXPECT_EQ(tensor.first_row, 16);
      EXPECT_EQ(tensor.shape, (std::vector<int64_t>{8, 8}));
      ++found;
    }
  }
  EXPECT_EQ(found, 1);
}

TEST(Names, TheBaseModelHasNoPrefix) {
  EXPECT_EQ(weight_map(test::tiny_options(family_named("bert"), Head::kNone)).front().name,
            "embeddings.word_embeddings.weight");
}

std::vector<std::string> names_in_file(const ModelOptions& options) {
  std::vector<std::string> names;
  for (const auto& tensor : weight_map(options)) {
    names.push_back(tensor.name);
  }
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Names, EachFamilyHasItsOwn) {
  const auto distilbert =
      names_in_file(test::tiny_options(family_named("distilbert"), Head::kSequence));
  EXPECT_TRUE(has(distilbert, "distilbert.transformer.layer.1.attention.q_lin.weight"));
  EXPECT_TRUE(has(distilbert, "pre_classifier.bias"));
  EXPECT_FALSE(has(distilbert, "distilbert.embeddings.token_type_embeddings.weight"));
  const auto xlm = names_in_file(test::tiny_options(family_named("xlm-roberta"), Head::kMaskedLm));
  EXPECT_TRUE(has(xlm, "roberta.encoder.layer.0.output.dense.weight"));
  EXPECT_TRUE(has(xlm, "lm_head.layer_norm.weight"));
  const auto electra =
      names_in_file(test::tiny_options(family_named("electra"), Head::kReplacedToken));
  EXPECT_TRUE(has(electra, "electra.embeddings_project.weight"));
  EXPECT_TRUE(has(electra, "discriminator_predictions.dense_prediction.weight"));
}

TEST(Names, EmbeddingsAsWideAsTheStackHaveNoProjection) {
  auto options = test::tiny_options(family_named("electra"), Head::kNone);
  EXPECT_TRUE(has(names_in_file(options), "embeddings_project.weight"));
  options.embedding_size = options.dim;
  EXPECT_FALSE(has(names_in_file(options), "embeddings_project.weight"));
  options.embedding_size = 0;
  EXPECT_FALSE(has(names_in_file(options), "embeddings_project.weight"));
}

TEST(Names, OldSpellingsAreKnown) {
  const auto options = test::tiny_options();
  const StoredTensor tensor{
      .parameter = "", .name = "bert.embeddings.LayerNorm.weight", .shape = {}};
  const auto names = name_aliases(tensor, options);
  for (const auto* name : {"bert.embeddings.LayerNorm.weight", "embeddings.LayerNorm.weight",
                           "bert.embeddings.LayerNorm.gamma", "embeddings.LayerNorm.gamma"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(Names, CopiesThatTransformersNeverAddsAreNotRead) {
  const auto options = test::tiny_options(family_named("reformer"), Head::kMaskedLm);
  const auto map = weight_map(options);
  const auto bias = std::ranges::find(map, "lm_head.decoder.bias", &StoredTensor::name);
  ASSERT_NE(bias, map.end());
  EXPECT_EQ(bias->duplicate_name, "lm_head.bias");
  EXPECT_TRUE(bias->is_optional);  // files of transformers before 5.24 only have the copy
  const auto names = name_aliases(*bias, options);
  EXPECT_EQ(std::ranges::count(names, "lm_head.bias"), 0);
  EXPECT_TRUE(is_ignorable("lm_head.bias", options));
}

TEST(Names, CopiesOfTiedMatricesAreHarmless) {
  auto options = test::tiny_options();
  EXPECT_TRUE(is_ignorable("cls.predictions.decoder.weight", options));
  EXPECT_TRUE(is_ignorable("bert.embeddings.position_ids", options));
  EXPECT_FALSE(is_ignorable("bert.pooler.dense.weight", options));
  options.tie_word_embeddings = false;
  EXPECT_FALSE(is_ignorable("cls.predictions.decoder.weight", options));
}

}  // namespace
}  // namespace weft::models
