#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "every_head.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "nn/pooling/sequence_pooling.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

struct PoolingCase {
  const char* family;
  const char* family_pooling;
};

void PrintTo(const PoolingCase& value, std::ostream* out) { *out << value.family; }

class ClassifierPooling : public testing::TestWithParam<PoolingCase> {
 protected:
  static std::shared_ptr<Model> model_with(const std::string& pooling) {
    auto options = test::smallest_options(family_named(GetParam().family), Head::kSequence);
    if (!pooling.empty()) {
      options.layer_types.pooling = nn::default_component(nn::sequence_poolings(), pooling);
    }
    auto model = make_model(options, 1);
    test::fill_parameters(*model);
    return model;
  }

  static at::Tensor logits_of(Model& model) {
    const test::TwoSequences two(model.options());
    return model.classify(two.input, two.context);
  }
};

INSTANTIATE_TEST_SUITE_P(Families,
                         ClassifierPooling,
                         testing::Values(PoolingCase{"bert", "cls"},
                                         PoolingCase{"roberta", "cls"},
                                         PoolingCase{"distilbert", "cls"},
                                         PoolingCase{"xlm", "cls"},
                                         PoolingCase{"gpt2", "last"},
                                         PoolingCase{"llama", "last"}));

TEST_P(ClassifierPooling, IsThatOfTheFamilyUnlessAnotherIsNamed) {
  const auto expected = logits_of(*model_with(""));
  EXPECT_TRUE(test::near(logits_of(*model_with(GetParam().family_pooling)), expected));
  for (const auto* pooling : {"mean", "max", "attention"}) {
    EXPECT_FALSE(test::near(logits_of(*model_with(pooling)), expected, 1e-7)) << pooling;
  }
}

TEST_P(ClassifierPooling, IsStoredWithTheModel) {
  for (const auto& definition : nn::sequence_poolings().all()) {
    const auto model = model_with(std::string(definition.name));
    const test::Folder folder;
    save_model(folder.path(), *model, formats::DType::kF32);
    const auto options = read_model_config(folder.path());
    EXPECT_EQ(options.layer_types.pooling, model->options().layer_types.pooling);
    const auto loaded = load_model(folder.path(), options, 9);
    EXPECT_TRUE(loaded.missing_keys.empty()) << definition.name;
    EXPECT_TRUE(loaded.unexpected_keys.empty()) << definition.name;
    EXPECT_TRUE(at::equal(logits_of(*loaded.model), logits_of(*model))) << definition.name;
  }
}

TEST_P(ClassifierPooling, IsNewInAModelThatStartsFromALanguageModel) {
  const auto family = family_named(GetParam().family);
  const bool is_causal = has_head(family, Head::kCausalLm);
  const auto pretrained =
      make_model(test::smallest_options(family, is_causal ? Head::kCausalLm : Head::kMaskedLm), 1);
  const test::Folder folder;
  save_model(folder.path(), *pretrained, formats::DType::kF32);
  const auto wanted = model_with("attention")->options();
  const auto loaded = load_model(folder.path(), wanted, 9);
  for (const std::string name :
       {"pooling.dense.weight", "pooling.dense.bias", "pooling.query.weight"}) {
    EXPECT_NE(std::ranges::find(loaded.missing_keys, name), loaded.missing_keys.end()) << name;
  }
}

TEST_P(ClassifierPooling, PoolsTheStatesOfTheWholeSequence) {
  const auto model = model_with("mean");
  const test::TwoSequences two(model->options());
  const auto states = model->hidden(two.input, two.context);
  EXPECT_TRUE(test::near(model->class_logits(states, two.context), logits_of(*model)));
}

}  // namespace
}  // namespace weft::models
