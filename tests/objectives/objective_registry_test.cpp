#include "objectives/objective_registry.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "config/reference.h"
#include "models/config/family_definition.h"
#include "models/config/presets.h"
#include "objectives/batches.h"
#include "objectives/masked_lm.h"
#include "support/config.h"

namespace weft::objectives {
namespace {

using ObjectiveKeys = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<Objective> read_keys(const ObjectiveKeys& keys) {
  auto section = test::section("objective", keys);
  return read_objective(section);
}

std::string message(const ObjectiveKeys& keys) {
  return test::message_of<config::Error>([&] { read_keys(keys); });
}

config::Declarations keys_of_all() {
  return config::collect_declarations([](config::Section section) { read_objective(section); });
}

TEST(ObjectiveRegistry, EveryObjectiveHasItsNameAndDocumentsItsKeys) {
  const auto all = keys_of_all();
  for (const auto& definition : objective_definitions()) {
    EXPECT_EQ(make_default_objective(definition)->name(), definition.name);
    EXPECT_FALSE(definition.help.empty());
    const auto own =
        config::collect_declarations([&](config::Section section) { definition.read(section); });
    for (const auto& key : own.keys) {
      const auto* documented = all.find(key.path);
      ASSERT_NE(documented, nullptr) << key.path;
      // Keys of a section do not repeat its condition.
      const auto* section = all.find(key.path.substr(0, key.path.find('.')));
      EXPECT_NE(section->only_if.find(definition.name), std::string::npos)
          << key.path << ": " << section->only_if;
    }
  }
}

TEST(ObjectiveRegistry, EveryObjectiveRefusesTheKeysOfOthers) {
  for (const auto& definition : objective_definitions()) {
    const auto own =
        config::collect_declarations([&](config::Section section) { definition.read(section); });
    for (const auto& key : keys_of_all().keys) {
      if (key.path == "type" || key.path.find('.') != std::string::npos ||
          own.find(key.path) != nullptr) {
        continue;
      }
      const auto found = message({{"type", std::string(definition.name)}, {key.path, "1"}});
      EXPECT_NE(found.find("objective." + key.path + ": belongs to objectives of type "),
                std::string::npos)
          << found;
      EXPECT_NE(found.find(", this one is " + std::string(definition.name)), std::string::npos);
    }
  }
}

TEST(ObjectiveRegistry, EveryObjectiveNamesAHeadThatAFittingFamilyHas) {
  for (const auto& definition : objective_definitions()) {
    const auto objective = make_default_objective(definition);
    int fitting = 0;
    std::vector<models::ModelOptions> every = {test::tiny_document_model(models::Head::kMaskedLm)};
    for (const auto* family : {"bert", "electra", "gpt2", "t5", "vit", "bag_of_words", "elmo"}) {
      every.push_back(models::family_defaults(models::family_named(family)));
    }
    for (const auto& model : every) {
      const auto wrong = objective->incompatibility(model);
      if (wrong) {
        EXPECT_NE(wrong->message.find("cannot train a model of type"), std::string::npos);
        continue;
      }
      ++fitting;
      EXPECT_TRUE(models::has_head(model.family, objective->head(model)))
          << definition.name << " of " << models::word_of(model.family);
    }
    EXPECT_GT(fitting, 0) << definition.name;
  }
}

TEST(ObjectiveRegistry, AKeyNamesAllItsTypes) {
  const auto all = keys_of_all();
  EXPECT_EQ(all.find("mask_fraction")->only_if,
            "type: mlm, translation_lm, distill or replaced_token");
  EXPECT_EQ(all.find("label_smoothing")->only_if,
            "type: classify or seq2seq, or type: distill with student_objective: classify");
  EXPECT_EQ(all.find("generator")->only_if, "type: replaced_token");
  EXPECT_EQ(all.find("generator.dim")->only_if, "");
}

TEST(ObjectiveRegistry, KeysOfAnotherTypeAreRefusedByName) {
  EXPECT_EQ(message({{"type", "classify"}, {"mask_fraction", "0.1"}}),
            "test.yaml:1:44: objective.mask_fraction: belongs to objectives of type mlm, "
            "translation_lm, distill or replaced_token, this one is classify");
}

TEST(ObjectiveRegistry, NoNameIsTakenTwice) {
  const auto before = objective_definitions().size();
  EXPECT_THROW(register_objective(objective_definitions().front()), std::invalid_argument);
  EXPECT_EQ(objective_definitions().size(), before);
}

TEST(ObjectiveRegistry, AnIncompatibilityNamesTheTypesThatAreAllowed) {
  const auto masked = read_keys({{"type", "masked_image"}});
  const auto bert = models::family_defaults(models::family_named("bert"));
  const auto wrong = find_incompatibility(*masked, bert);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->key, "type");
  EXPECT_EQ(wrong->message,
            "masked_image cannot train a model of type bert, which has no image input; allowed "
            "are mlm, classify, regress, tag, translation_lm, distill");
  const auto mlm = read_keys({{"type", "mlm"}});
  const auto vit = models::family_defaults(models::family_named("vit"));
  EXPECT_EQ(find_incompatibility(*mlm, vit)->message,
            "mlm cannot train a model of type vit, which reads images; allowed are classify, "
            "distill, masked_image");
  EXPECT_FALSE(find_incompatibility(*masked, vit));
}

TEST(ObjectiveRegistry, UnknownTypesAreRefused) {
  EXPECT_NE(message({{"type", "mml"}}).find("mlm"), std::string::npos);
  EXPECT_NE(message({}).find("objective"), std::string::npos);
}

TEST(MaskOptions, ReadTheirKeys) {
  data::MaskOptions mask;
  auto section = test::section("objective", {{"mask_fraction", "0.3"},
                                             {"mask_unit", "span"},
                                             {"max_span", "7"},
                                             {"static_masking", "true"}});
  read_mask_options(section, mask);
  EXPECT_EQ(mask.fraction, 0.3);
  EXPECT_EQ(mask.unit, data::MaskUnit::kSpan);
  EXPECT_EQ(mask.max_span, 7);
  EXPECT_TRUE(mask.is_static);
}

TEST(MaskOptions, SharesAreAtMostOneTogether) {
  EXPECT_NE(message({{"type", "mlm"}, {"mask_token_prob", "0.9"}, {"random_token_prob", "0.2"}})
                .find("objective.random_token_prob"),
            std::string::npos);
  EXPECT_TRUE(
      read_keys({{"type", "mlm"}, {"mask_token_prob", "0.9"}, {"random_token_prob", "0.1"}}));
  EXPECT_NE(message({{"type", "mlm"}, {"mask_fraction", "15"}}).find("objective.mask_fraction"),
            std::string::npos);
}

TEST(MaskedLm, HasOneTaskOnPairsAtMost) {
  EXPECT_NE(message({{"type", "mlm"}, {"next_sentence", "true"}, {"sentence_order", "true"}})
                .find("objective.sentence_order"),
            std::string::npos);
  EXPECT_EQ(read_keys({{"type", "mlm"}, {"next_sentence", "true"}})->terms().back(),
            "next_sentence");
}

TEST(MaskedLm, PairsNeedAFamilyThatHasTheirHead) {
  const auto objective = read_keys({{"type", "mlm"}, {"next_sentence", "true"}});
  EXPECT_FALSE(objective->incompatibility(models::family_defaults(models::family_named("bert"))));
  const auto wrong =
      objective->incompatibility(models::family_defaults(models::family_named("roberta")));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->key, "next_sentence");
}

TEST(Tag, AFlagIsTrueOrFalse) {
  EXPECT_NE(message({{"type", "tag"}, {"label_all_tokens", "last"}}).find("is not true or false"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::objectives
