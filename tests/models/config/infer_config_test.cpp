#include <filesystem>

#include <gtest/gtest.h>

#include "models/config/config_json.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::models {
namespace {

/// A saved model whose config.json lacks some keys.
struct Trimmed {
  Trimmed(const ModelOptions& options, const std::vector<std::string>& lost) {
    save_model(folder.path(), *make_model(options, 7), formats::DType::kF32);
    auto json = formats::read_json(folder.path("config.json"));
    for (const auto& key : lost) {
      json.erase(key);
    }
    folder.write("config.json", json.dump());
  }
  ModelOptions read() const { return read_model_config(folder.path()); }
  ModelOptions read_old() const { return read_legacy_model_config(folder.path()); }

  test::Folder folder;
};

TEST(CompletedConfig, TheHeadIsInferredFromItsTensors) {
  for (const auto family : test::transformers()) {
    for (const auto& head_name : heads_of(family)) {
      const auto options = test::tiny_options(family, head_name.head);
      const Trimmed trimmed(options, {"architectures"});
      if (family == family_named("reformer") && head_name.head == Head::kMaskedLm) {
        continue;  // has the tensors of the causal one
      }
      // ModernBERT's classifiers are indistinguishable: a sequence classifier is assumed.
      const bool is_told = family != family_named("modernbert") ||
                           (head_name.head != Head::kToken && head_name.head != Head::kSpan);
      const auto expected = is_told ? head_name.head : Head::kSequence;
      EXPECT_EQ(architecture_of(trimmed.read()),
                architecture_of(test::tiny_options(family, expected)));
    }
  }
}

TEST(CompletedConfig, ClassesAreCountedWhereNoNamesAre) {
  const Trimmed trimmed(test::tiny_options(family_named("distilbert"), Head::kSequence),
                        {"architectures", "id2label", "label2id"});
  EXPECT_EQ(trimmed.read().labels, (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

TEST(CompletedConfig, TheFamilyOfAnOldDirectoryIsInferredFromClassOrTensors) {
  for (const auto family :
       {family_named("bert"), family_named("xlm-roberta"), family_named("distilbert")}) {
    const Trimmed by_class(test::tiny_options(family), {"model_type"});
    EXPECT_EQ(by_class.read_old().family, family);
  }
  const Trimmed by_tensors(test::tiny_options(family_named("electra")),
                           {"model_type", "architectures"});
  const auto old = by_tensors.read_old();
  EXPECT_EQ(architecture_of(old), "ElectraForMaskedLM");
  EXPECT_TRUE(load_model(by_tensors.folder.path(), old, 0).missing_keys.empty());
}

TEST(CompletedConfig, OnlyImportInfersTheFamily) {
  const Trimmed trimmed(test::tiny_options(), {"model_type"});
  const auto message = test::message_of<formats::Error>([&] { trimmed.read(); });
  EXPECT_EQ(message, trimmed.folder.path("config.json") +
                         ": model_type: missing, must be the model's family; `weft import " +
                         trimmed.folder.path() +
                         " --output DIR` infers it and writes a current directory");
}

TEST(CompletedConfig, WithoutWeightsNothingIsInferred) {
  const Trimmed trimmed(test::tiny_options(), {"model_type", "architectures"});
  std::filesystem::remove(trimmed.folder.path("model.safetensors"));
  const auto message = test::message_of<formats::Error>([&] { trimmed.read_old(); });
  EXPECT_NE(message.find("marian, vit"), std::string::npos) << message;  // not twice
  EXPECT_EQ(message.find("marian, marian"), std::string::npos) << message;
  EXPECT_NE(message.find("model_type: found nothing, allowed is bert"), std::string::npos)
      << message;
}

}  // namespace
}  // namespace weft::models
