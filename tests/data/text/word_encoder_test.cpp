#include "data/text/word_encoder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/datasets/sequence_template.h"
#include "support/folder.h"

namespace weft::data {
namespace {

using nlohmann::json;
const std::string kReference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/";

/// Results of transformers for split words (scripts/make_tagging_reference.py).
json word_encoder_reference() {
  return json::parse(test::Folder::read(kReference + "tagging/words.json"));
}

TEST(WordEncoder, MakesTheIdsAndWordsOfTransformers) {
  const json expected = word_encoder_reference();
  for (const auto& [name, rows] : expected.at("tokenizers").items()) {
    const auto tokenizer = load_tokenizer(kReference + "tokenizers/" + name);
    const WordEncoder encoder(*tokenizer);
    const SequenceTemplate around(*tokenizer, false);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<int64_t> ids = around.before();
      std::vector<int64_t> numbers(ids.size(), -1);
      for (std::size_t word = 0; word < expected["words"][i].size(); ++word) {
        std::vector<int32_t> pieces;
        encoder.encode(expected["words"][i][word].get<std::string>(), pieces);
        ids.insert(ids.end(), pieces.begin(), pieces.end());
        numbers.insert(numbers.end(), pieces.size(), static_cast<int64_t>(word));
      }
      ids.insert(ids.end(), around.after().begin(), around.after().end());
      numbers.insert(numbers.end(), around.after().size(), -1);
      EXPECT_EQ(json(ids), rows[i]["ids"]) << name << " " << expected["words"][i];
      EXPECT_EQ(json(numbers), rows[i]["words"]) << name << " " << expected["words"][i];
    }
  }
}

}  // namespace
}  // namespace weft::data
