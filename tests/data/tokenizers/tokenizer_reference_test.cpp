#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/tokenizer.h"
#include "formats/json.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using formats::Json;

const std::string kTokenizerReferenceFolder =
    std::string(WEFT_SOURCE_DIR) + "/tests/reference/tokenizers";

/// Tokenizers of other libraries and their results on difficult texts
/// (scripts/make_tokenizer_reference.py).
class TokenizerReference : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string folder = kTokenizerReferenceFolder + "/" + GetParam();
    lines_ = formats::read_json(kTokenizerReferenceFolder + "/lines.json")
                 .get<std::vector<std::string>>();
    expected_ = formats::read_json(folder + "/expected.json");
    is_bare_ = !expected_.contains("pair_ids");
    tokenizer_ = load_tokenizer(is_bare_ ? folder + "/spiece.model" : folder);
  }

  std::vector<int32_t> ids(const std::string& line) const {
    std::vector<int32_t> found;
    tokenizer_->encode(line, found);
    return found;
  }

  std::vector<std::string> lines_;
  Json expected_;
  bool is_bare_ = false;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

TEST_P(TokenizerReference, GivesTheSameIds) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    EXPECT_EQ(tokenizer_->sequence(ids(lines_[i])).ids,
              expected_["ids"][i].get<std::vector<int32_t>>())
        << lines_[i];
  }
}

TEST_P(TokenizerReference, GivesTheSameIdsWithOffsets) {
  for (const std::string& line : lines_) {
    std::vector<int32_t> found;
    int64_t last = 0;
    for (const Token& token : tokenizer_->tokens(line)) {
      found.push_back(token.id);
      EXPECT_LE(token.begin, token.end) << line;
      EXPECT_LE(last, token.end) << line;
      EXPECT_LE(token.end, static_cast<int64_t>(line.size())) << line;
      last = token.begin;
    }
    EXPECT_EQ(found, ids(line)) << line;
  }
}

TEST_P(TokenizerReference, GivesTheSamePairs) {
  const std::size_t pairs = is_bare_ ? 0 : expected_["pair_ids"].size();
  for (std::size_t i = 0; i < pairs; ++i) {
    const Sequence found = tokenizer_->sequence(ids(lines_[i]), ids(lines_[pairs + i]));
    EXPECT_EQ(found.ids, expected_["pair_ids"][i].get<std::vector<int32_t>>()) << lines_[i];
    EXPECT_EQ(found.token_type_ids, expected_["pair_types"][i].get<std::vector<int32_t>>())
        << lines_[i];
  }
}

TEST_P(TokenizerReference, DecodesToTheSameText) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    EXPECT_EQ(tokenizer_->decode(expected_["ids"][i].get<std::vector<int32_t>>()),
              expected_["texts"][i].get<std::string>())
        << lines_[i];
  }
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kTokenizerReferenceFolder)) {
    if (entry.is_directory()) {
      names.push_back(entry.path().filename());
    }
  }
  return names;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(All, TokenizerReference, ::testing::ValuesIn(cases()), name_of);

TEST(TokenizerPlaces, MatchTokenizers) {
  const auto lines =
      formats::read_json(kTokenizerReferenceFolder + "/lines.json").get<std::vector<std::string>>();
  const Json expected = formats::read_json(kTokenizerReferenceFolder + "/bert_cased/expected.json");
  const auto tokenizer = load_tokenizer(kTokenizerReferenceFolder + "/bert_cased");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<Token> tokens = tokenizer->tokens(lines[i]);
    const Json& places = expected["places"][i];
    ASSERT_EQ(tokens.size() + 2, places.size()) << lines[i];  // [CLS] and [SEP] have none
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      EXPECT_EQ(tokens[k].begin, places[k + 1][0].get<int64_t>()) << lines[i];
      EXPECT_EQ(tokens[k].end, places[k + 1][1].get<int64_t>()) << lines[i];
    }
  }
}

TEST(TokenizerPlaces, CoverTextMergedOrRemovedByTheNormalizer) {
  const auto tokenizer = load_tokenizer(kTokenizerReferenceFolder + "/bert_uncased");
  const std::string line = "\u00C9t\u0301 na\u00EFve";  // accents in both forms
  std::vector<std::string> covered;
  for (const Token& token : tokenizer->tokens(line)) {
    covered.push_back(line.substr(static_cast<std::size_t>(token.begin),
                                  static_cast<std::size_t>(token.end - token.begin)));
  }
  ASSERT_FALSE(covered.empty());
  EXPECT_TRUE(covered.front().starts_with("\u00C9"));
  std::string joined;
  for (const std::string& part : covered) {
    joined += part;
  }
  EXPECT_NE(joined.find("\u00EF"), std::string::npos);
}

TEST(Tokenizer, ReadsIllFormedTextAsReplacementCharacters) {
  const auto tokenizer = load_tokenizer(kTokenizerReferenceFolder + "/gpt2");
  std::vector<int32_t> broken;
  std::vector<int32_t> repaired;
  tokenizer->encode("a\xFF b\xE2\x82", broken);
  tokenizer->encode("a\uFFFD b\uFFFD", repaired);
  EXPECT_EQ(broken, repaired);
}

TEST(Tokenizer, DistinguishesSpecialAndContinuingPieces) {
  const auto bert = load_tokenizer(kTokenizerReferenceFolder + "/bert_uncased");
  const SpecialTokenIds special = bert->special_token_ids();
  EXPECT_EQ(special.pad, 0);
  EXPECT_EQ(special.unk, 1);
  EXPECT_EQ(special.cls, 2);
  EXPECT_EQ(special.sep, 3);
  EXPECT_EQ(special.mask, 4);
  EXPECT_TRUE(bert->is_special(4));
  EXPECT_FALSE(bert->continues_word(4));
  EXPECT_TRUE(bert->continues_word(bert->id("##e").value()));
  EXPECT_FALSE(bert->continues_word(bert->id("e").value()));
  EXPECT_EQ(bert->num_special_tokens_to_add(false), 2);
  EXPECT_EQ(bert->num_special_tokens_to_add(true), 3);
  const auto roberta = load_tokenizer(kTokenizerReferenceFolder + "/roberta");
  EXPECT_EQ(roberta->num_special_tokens_to_add(true), 4);
  EXPECT_FALSE(roberta->continues_word(roberta->id("\u0120the").value()));
  EXPECT_TRUE(roberta->continues_word(roberta->id("e").value()));
}

}  // namespace
}  // namespace weft::data
