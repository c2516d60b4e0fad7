#include <algorithm>

#include <gtest/gtest.h>

#include "config/example.h"
#include "config/reference.h"
#include "support/config.h"

namespace weft::config {
namespace {

using test::message_of;
using test::section;

TEST(ForeignTerms, AreSuggestedForUnknownKeys) {
  const auto message = [](const std::string& key) {
    return message_of<Error>([&] {
      auto train = section("train", {{key, "1"}});
      double rate = 1;
      train.read("rate", rate, {.help = "Rate."});
      train.reject_unread();
    });
  };
  EXPECT_EQ(message("learning_rate"),
            "test.yaml:1:9: train.learning_rate: unknown key 'learning_rate', did you mean "
            "'train.optimizer.lr'? allowed: rate");
  EXPECT_EQ(message("Num-Train-Epochs"),
            "test.yaml:1:9: train.Num-Train-Epochs: unknown key 'Num-Train-Epochs', did you mean "
            "'train.duration' (a number with a unit, as in `3 epochs` or `2000 steps`)? allowed: "
            "rate");
}

TEST(ForeignTerms, AreSuggestedForWordsOfChoices) {
  enum class Type { kAdamW, kSgd };
  const Choices<Type> types = {{"adamw", Type::kAdamW}, {"sgd", Type::kSgd}};
  EXPECT_EQ(message_of<Error>([&] {
              auto optimizer = section("train.optimizer", {{"type", "Adam"}});
              auto type = Type::kSgd;
              optimizer.read_choice("type", type, types, {.help = "Type."});
            }),
            "test.yaml:1:27: train.optimizer.type: 'Adam' is not one of adamw, sgd, did you mean "
            "'adamw'?");
  EXPECT_EQ(find_foreign_value("run.device", "Adam"), "");
}

TEST(ForeignTerms, AreExplained) {
  const auto declarations = collect_declarations([](Section root) { example::read_example(root); });
  EXPECT_EQ(explain(declarations, "d_model"),
            "d_model is called model.dim here\n\n" + explain(declarations, "model.dim"));
  EXPECT_EQ(
      explain(declarations, "num_train_epochs"),
      "num_train_epochs is called train.duration here: a number with a unit, as in `3 epochs` "
      "or `2000 steps`\n\n" +
          explain(declarations, "train.duration"));
}

TEST(ForeignTerms, AreListedOnce) {
  for (const auto& key : foreign_keys()) {
    EXPECT_EQ(std::ranges::count(foreign_keys(), key.name, &ForeignKey::name), 1) << key.name;
  }
}

}  // namespace
}  // namespace weft::config
