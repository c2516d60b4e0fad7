#include "data/text/text_words.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/datasets/sequence_template.h"
#include "support/folder.h"

namespace weft::data {
namespace {

using WordList = std::vector<std::string>;

WordList text_word_texts(std::string_view text) {
  WordList found;
  for (const auto& word : split_words(text)) {
    found.push_back(word.text);
  }
  return found;
}

TEST(TextWords, SetPunctuationApart) {
  EXPECT_EQ(text_word_texts(" Ada (of Turin), said: \"No!\"\n"),
            (WordList{"Ada", "(", "of", "Turin", ")", ",", "said", ":", "\"", "No", "!", "\""}));
  EXPECT_EQ(text_word_texts("..."), (WordList{".", ".", "."}));
  EXPECT_EQ(text_word_texts(""), WordList{});
}

TEST(TextWords, KeepWhatIsInsideOfAWord) {
  EXPECT_EQ(text_word_texts("The U.S. well-known 3.5 O'Neill."),
            (WordList{"The", "U.S.", "well-known", "3.5", "O'Neill", "."}));
  EXPECT_EQ(text_word_texts("Ada's dog\xe2\x80\x99s"),
            (WordList{"Ada", "'s", "dog", "\xe2\x80\x99s"}));
}

TEST(TextWords, AreCountedInCharacters) {
  const auto words = split_words("\xc3\x9cm\xe2\x80\x83Z\xc3\xbcrich,");  // em space
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(words[0].end, 2);
  EXPECT_EQ(words[1].text, "Z\xc3\xbcrich");
  EXPECT_EQ(words[1].begin, 3);
  EXPECT_EQ(words[1].end, 9);
  EXPECT_EQ(words[2].begin, 9);
}

TEST(TextWords, ListItemsAreSeparatedByOneSpace) {
  const auto words = join_words({"Z\xc3\xbcrich", "is"});
  EXPECT_EQ(words[0].end, 6);
  EXPECT_EQ(words[1].begin, 7);
  EXPECT_EQ(words[1].end, 9);
}

TEST(TextWords, SpansBreakBeforeTheWordThatDoesNotFit) {
  EXPECT_EQ(chunk_words({2, 1, 4, 0, 1, 3}, 3), (std::vector<int64_t>{2, 3, 5, 6}));
  EXPECT_EQ(chunk_words({}, 3), std::vector<int64_t>{});
  EXPECT_EQ(chunk_words({1, 1}, 3), std::vector<int64_t>{2});
}

const std::string kReference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/";

/// Results of transformers for split words (scripts/make_tagging_reference.py).
nlohmann::json word_encoder_reference() {
  return nlohmann::json::parse(test::Folder::read(kReference + "tagging/words.json"));
}

TEST(WordEncoder, MakesTheIdsAndWordsOfTransformers) {
  const nlohmann::json expected = word_encoder_reference();
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
      EXPECT_EQ(nlohmann::json(ids), rows[i]["ids"]) << name << " " << expected["words"][i];
      EXPECT_EQ(nlohmann::json(numbers), rows[i]["words"]) << name << " " << expected["words"][i];
    }
  }
}

}  // namespace
}  // namespace weft::data
