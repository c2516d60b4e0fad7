#include <gtest/gtest.h>

#include "base/error.h"
#include "inference/embed.h"
#include "inference/predict.h"
#include "inference/predict_tags.h"
#include "models/directory.h"
#include "objectives/batches.h"
#include "support/tensors.h"
#include "support/toy_tokenizer.h"

namespace weft::inference {
namespace {

TEST(Language, ChangesTheOutputs) {
  const test::ToyTokenizer tokenizer({"a", "b"}, 20);
  const auto classifier = models::make_model(test::tiny_xlm(models::Head::kSequence), 3);
  const auto german = predict(*classifier, tokenizer, {{"a b", {}}}, {.language = "de"});
  const auto english = predict(*classifier, tokenizer, {{"a b", {}}}, {.language = "en"});
  EXPECT_NE(german[0].scores, english[0].scores);
  EXPECT_THROW(predict(*classifier, tokenizer, {{"a b", {}}}), UserError);

  const auto tagger = models::make_model(test::tiny_xlm(models::Head::kToken), 3);
  EXPECT_NE(predict_tags(*tagger, tokenizer, {{"a"}}, {.language = "de"})[0].words[0].score,
            predict_tags(*tagger, tokenizer, {{"a"}}, {.language = "en"})[0].words[0].score);

  const auto bare = models::make_model(test::tiny_xlm(models::Head::kNone), 3);
  const auto vector_in = [&](const std::string& language) {
    return embed(*bare, tokenizer, {"a b"}, {}, 100, language).vectors;
  };
  EXPECT_FALSE(test::near(vector_in("de"), vector_in("en")));
}

}  // namespace
}  // namespace weft::inference
