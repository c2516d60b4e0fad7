#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/tokenizer_options.h"
#include "data/tokenizers/fasttext/fasttext_features.h"
#include "support/folder.h"

namespace weft::data {
namespace {

using FeatureIds = std::vector<int32_t>;

FeatureIds feature_ids(const Tokenizer& tokenizer, const std::string& text) {
  FeatureIds ids;
  tokenizer.encode(text, ids);
  return ids;
}

std::shared_ptr<const Tokenizer> fasttext_trained(TokenizerOptions options,
                                                  const std::vector<std::string>& texts) {
  options.type = TokenizerType::kFastText;
  TokenizerReport report;
  return train_tokenizer(
      options, TokenizerTemplate::kFastText, 1,
      [&](const TextVisitor& visit) {
        for (const auto& text : texts) {
          visit(text);
        }
      },
      report);
}

TEST(FastTextNgrams, HashIsFnv1aOfSignedBytes) {
  EXPECT_EQ(FastTextNgrams::hash(""), 0x811C9DC5U);
  EXPECT_EQ(FastTextNgrams::hash("a"), 0xE40C292CU);       // the published test vectors
  EXPECT_EQ(FastTextNgrams::hash("foobar"), 0xBF9CF968U);  // of FNV-1a
  EXPECT_EQ(FastTextNgrams::hash("\xC3"), (0x811C9DC5U ^ 0xFFFFFFC3U) * 16777619U);
}

TEST(FastTextNgrams, OfCharactersIncludeTheBracketsButNotAlone) {
  const FastTextNgrams ngrams({.min_chars = 1, .max_chars = 2, .buckets = 1 << 30});
  std::vector<uint64_t> found;
  ngrams.visit_characters("u\u00fc", [&](uint64_t bucket) { found.push_back(bucket); });
  std::vector<uint64_t> expected;
  for (const std::string ngram : {"<u", "u", "u\u00fc", "\u00fc", "\u00fc>"}) {
    expected.push_back(FastTextNgrams::hash(ngram) % (1 << 30));
  }
  EXPECT_EQ(found, expected);
}

TEST(FastTextTokenizer, GivesWordsThenTheBucketsOfTheirNgrams) {
  const auto tokenizer =
      make_fasttext_tokenizer({.word_ngrams = 2, .buckets = 1000}, {"</s>", "a", "b"}, nullptr);
  EXPECT_EQ(tokenizer->size(), 1003);
  const auto bucket = [](const std::string& first, const std::string& second) {
    const auto signed_hash = [](const std::string& word) {
      return static_cast<uint64_t>(int64_t{static_cast<int32_t>(FastTextNgrams::hash(word))});
    };
    const auto hash = signed_hash(first) * 116049371U + signed_hash(second);
    return static_cast<int32_t>(3 + hash % 1000);
  };
  EXPECT_EQ(feature_ids(*tokenizer, "a  b\n"),
            (FeatureIds{1, 2, bucket("a", "b"), 0, bucket("b", "</s>")}));
  EXPECT_EQ(feature_ids(*tokenizer, "x a"),
            (FeatureIds{1, bucket("x", "a"), 0, bucket("a", "</s>")}))
      << "an unknown word has n-grams only";
  EXPECT_EQ(feature_ids(*tokenizer, ""), FeatureIds{0});
  EXPECT_EQ(feature_ids(*tokenizer, "__label__x a"), feature_ids(*tokenizer, "a"));
  EXPECT_EQ(tokenizer->decode({1, 2, 500, 0}), "a b");
  EXPECT_EQ(tokenizer->word_token("b"), 2);
  EXPECT_EQ(tokenizer->word_token("c"), std::nullopt);
}

TEST(FastTextTokenizer, ATokenCoversItsWords) {
  const auto tokenizer =
      make_fasttext_tokenizer({.word_ngrams = 2, .buckets = 10}, {"</s>", "a", "bc"}, nullptr);
  const auto tokens = tokenizer->tokens(" a bc");
  ASSERT_EQ(tokens.size(), 5U);
  EXPECT_EQ(tokens[0].begin, 1);
  EXPECT_EQ(tokens[1].begin, 3);
  EXPECT_EQ(tokens[2].begin, 1);  // the bigram
  EXPECT_EQ(tokens[2].end, 5);
  EXPECT_EQ(tokens[3].begin, 5);  // the end
  EXPECT_EQ(tokens[3].end, 5);
}

TEST(FastTextTokenizer, TrainedHasTheFrequentWordsAndNgrams) {
  const auto tokenizer = fasttext_trained({.min_frequency = 2, .word_ngrams = 2},
                                          {"Red, red wine", "red wine", "white wine!"});
  EXPECT_EQ(tokenizer->id("</s>"), 0);  // all three 3 times: in the order of their bytes
  EXPECT_EQ(tokenizer->id("red"), 1);
  EXPECT_EQ(tokenizer->id("wine"), 2);
  EXPECT_EQ(tokenizer->id("white"), std::nullopt);
  EXPECT_EQ(tokenizer->size(), 3 + 2);  // with the bigrams `red wine` and `wine </s>`
  EXPECT_EQ(feature_ids(*tokenizer, "RED WINE").size(), 5U);
  EXPECT_EQ(fasttext_trained({.vocab_size = 16, .min_frequency = 1, .char_ngrams = {2, 5}},
                             {"a few words and many n-grams"})
                ->size(),
            16);
}

TEST(FastTextTokenizer, IsTheSameAfterLoading) {
  const test::Folder folder;
  const auto trained =
      fasttext_trained({.min_frequency = 1, .word_ngrams = 3, .char_ngrams = {2, 3}},
                       {"one two three", "two, three four"});
  trained->save(folder.path(), 512);
  ASSERT_TRUE(has_tokenizer(folder.path()));
  const auto loaded = load_tokenizer(folder.path());
  EXPECT_EQ(loaded->fingerprint(), trained->fingerprint());
  EXPECT_EQ(loaded->size(), trained->size());
  for (const std::string text : {"one two three four", "Three, five", "", "\xff two"}) {
    EXPECT_EQ(feature_ids(*loaded, text), feature_ids(*trained, text)) << text;
  }
}

TEST(FastTextTokenizer, DamagedIsRefusedWithItsKey) {
  const test::Folder folder;
  const auto message = [&](const std::string& json) -> std::string {
    folder.write("fasttext.json", json);
    try {
      load_tokenizer(folder.path());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string rest = R"("char_ngrams": [0, 0], "buckets": 9, "word_ngrams": 1)";
  EXPECT_EQ(message("{" + rest + R"(, "words": ["a"]})"), "");
  EXPECT_NE(message("{" + rest + R"(, "words": []})").find("words: has none"), std::string::npos);
  EXPECT_NE(message("{" + rest + R"(, "words": ["a", 1]})").find("words: found 1"),
            std::string::npos);
  EXPECT_NE(message("{" + rest + R"(, "words": ["a"], "bucket_rows": [9]})")
                .find("bucket_rows: found 9, must be 0 to 8"),
            std::string::npos);
  EXPECT_NE(message(R"({"char_ngrams": [3], "buckets": 9, "word_ngrams": 1, "words": ["a"]})")
                .find("char_ngrams"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::data
