#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/datasets/parallel_dataset.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using TokenIds = std::vector<int32_t>;

const std::string kMarianFolder = std::string(WEFT_SOURCE_DIR) + "/tests/reference/marian";

Json read_marian(const std::string& file) { return formats::read_json(kMarianFolder + "/" + file); }

TokenIds encoded(const Tokenizer& tokenizer, const std::string& line) {
  TokenIds ids;
  tokenizer.encode(line, ids);
  return ids;
}

/// A copy of a reference directory that may be changed.
class Copy {
 public:
  explicit Copy(const std::string& name) {
    fs::copy(kMarianFolder + "/" + name, folder_.path(), fs::copy_options::recursive);
  }
  const std::string& path() const { return folder_.path(); }
  void change(const std::string& file, const std::function<void(Json&)>& change) const {
    Json json = formats::read_json(folder_.path(file));
    change(json);
    folder_.write(file, json.dump());
  }
  void remove(const std::string& file) const { fs::remove(folder_.path(file)); }
  /// Message of the error when reading it, without the path of the directory.
  std::string message() const {
    auto found = test::message_of<UserError>([&] { load_tokenizer(path()); });
    EXPECT_TRUE(found.starts_with(path())) << found;
    return found.substr(std::min(found.size(), path().size()));
  }

 private:
  test::Folder folder_;
};

/// Directories of Marian models and the results of MarianTokenizer on difficult texts
/// (scripts/make_marian_reference.py).
class MarianReference : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    lines_ = read_marian("lines.json").get<std::vector<std::string>>();
    expected_ = read_marian(GetParam() + "/expected.json");
    tokenizer_ = load_tokenizer(kMarianFolder + "/" + GetParam());
  }

  void expect_same(const Tokenizer& tokenizer) const {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string& line = lines_[i];
      EXPECT_EQ(tokenizer.sequence(encoded(tokenizer, line)).ids,
                expected_["sources"][i].get<TokenIds>())
          << line;
      const Tokenizer& target = tokenizer.target();
      EXPECT_EQ(target.sequence(encoded(target, line)).ids, expected_["targets"][i].get<TokenIds>())
          << line;
    }
  }

  std::vector<std::string> lines_;
  Json expected_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

TEST_P(MarianReference, GivesTheSameIdsOnBothSides) { expect_same(*tokenizer_); }

TEST_P(MarianReference, GivesTheSameIdsOnceSaved) {
  const test::Folder folder;
  tokenizer_->save(folder.path("saved"), 512);
  const auto again = load_tokenizer(folder.path("saved"));
  expect_same(*again);
  EXPECT_EQ(again->fingerprint(), tokenizer_->fingerprint());
  const Json config = formats::read_json(folder.path("saved/tokenizer_config.json"));
  EXPECT_EQ(config["tokenizer_class"], "MarianTokenizer");
  EXPECT_EQ(config["model_max_length"], 512);
  EXPECT_EQ(config["target_lang"], "fra");
  EXPECT_FALSE(fs::exists(folder.path("saved/tokenizer.json")));
}

TEST_P(MarianReference, GivesTheSamePairs) {
  const std::size_t pairs = expected_["pairs"].size();
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto found = tokenizer_->sequence(encoded(*tokenizer_, lines_[i]),
                                            encoded(*tokenizer_, lines_[pairs + i]));
    EXPECT_EQ(found.ids, expected_["pairs"][i].get<TokenIds>()) << lines_[i];
  }
}

TEST_P(MarianReference, DecodesToTheSameText) {
  for (const std::string side : {"sources", "targets"}) {
    const Tokenizer& tokenizer = side == "sources" ? *tokenizer_ : tokenizer_->target();
    if (!expected_.contains(side + "_texts")) {
      continue;
    }
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const TokenIds ids = expected_[side][i].get<TokenIds>();
      EXPECT_EQ(tokenizer.decode(ids), expected_[side + "_texts"][i].get<std::string>());
      EXPECT_EQ(tokenizer.decode(ids, false),
                expected_[side + "_whole_texts"][i].get<std::string>());
    }
  }
}

TEST_P(MarianReference, OffsetsReferToTheText) {
  for (const std::string& line : lines_) {
    TokenIds found;
    int64_t last = 0;
    for (const Token& token : tokenizer_->tokens(line)) {
      found.push_back(token.id);
      EXPECT_LE(last, token.begin) << line;
      EXPECT_LE(token.begin, token.end) << line;
      EXPECT_LE(token.end, static_cast<int64_t>(line.size())) << line;
      last = token.begin;
    }
    EXPECT_EQ(found, encoded(*tokenizer_, line)) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Directories, MarianReference, ::testing::Values("joint", "separate"));

TEST(MarianTokenizer, LanguageCodesAndTextHaveOffsets) {
  const auto tokenizer = load_tokenizer(kMarianFolder + "/joint");
  const auto tokens = tokenizer->tokens(">>fra<< Soup");
  ASSERT_GE(tokens.size(), 2U);
  EXPECT_EQ(tokenizer->piece(tokens[0].id), ">>fra<<");
  EXPECT_EQ(tokens[0].begin, 0);
  EXPECT_EQ(tokens[0].end, 7);
  EXPECT_EQ(tokens.back().end, 12);
}

TEST(MarianTokenizer, SidesShareIdsUnlessToldOtherwise) {
  const auto joint = load_tokenizer(kMarianFolder + "/joint");
  EXPECT_NE(&joint->target(), joint.get());
  EXPECT_EQ(&joint->target().target(), &joint->target());
  EXPECT_EQ(joint->target().fingerprint(), joint->fingerprint());
  EXPECT_FALSE(joint->has_separate_vocabularies());
  EXPECT_TRUE(load_tokenizer(kMarianFolder + "/separate")->has_separate_vocabularies());
}

TEST(MarianTokenizer, SpecialIdsAreThoseOfTheVocabulary) {
  const auto tokenizer = load_tokenizer(kMarianFolder + "/joint");
  const auto pieces = read_marian("joint/vocab.json");
  const SpecialTokenIds special = tokenizer->special_token_ids();
  EXPECT_EQ(special.eos, 0);
  EXPECT_EQ(special.unk, 1);
  EXPECT_EQ(special.pad, pieces["<pad>"]);
  EXPECT_EQ(special.bos, -1);
  EXPECT_EQ(special.mask, -1);
  EXPECT_EQ(tokenizer->size(), static_cast<int64_t>(pieces.size()));
  EXPECT_EQ(tokenizer->num_special_tokens_to_add(false), 1);
  EXPECT_TRUE(tokenizer->is_special(special.pad));
  EXPECT_FALSE(tokenizer->is_special(pieces[">>fra<<"].get<int32_t>()));
  EXPECT_FALSE(tokenizer->continues_word(pieces[">>fra<<"].get<int32_t>()));
  EXPECT_TRUE(tokenizer->continues_word(pieces["\u00DF"].get<int32_t>()));
}

TEST(MarianTokenizer, PairsAreTokenizedByTheModelOfTheirSide) {
  const test::Folder folder;
  DataItem item;
  item.source = folder.write("x.en", "The pan had to soak overnight.\n");
  item.target = folder.write("x.fr", "The pan had to soak overnight.\n");
  item.path = *item.source;
  item.files = {*item.source};
  item.target_files = {*item.target};
  DataOptions options;
  options.cache = folder.path("cache");
  const auto dataset = make_parallel_dataset({item}, options, {.length = 64, .start_id = 210},
                                             load_tokenizer(kMarianFolder + "/joint"));
  const auto example = dataset->example(0, 0);
  const auto expected = read_marian("joint/expected.json");
  EXPECT_EQ(example.source_ids, expected["sources"][0].get<std::vector<int64_t>>());
  EXPECT_EQ(example.targets, expected["targets"][0].get<std::vector<int64_t>>());
  EXPECT_NE(example.source_ids, example.targets);
}

TEST(MarianTokenizer, AddedTokensOfTheConfigAreFoundAndKept) {
  const Copy copy("joint");
  copy.change("tokenizer_config.json", [](Json& config) {
    config["added_tokens_decoder"] = {
        {"211", {{"content", "<extra>"}, {"rstrip", true}, {"special", false}}}};
  });
  const auto tokenizer = load_tokenizer(copy.path());
  EXPECT_EQ(tokenizer->size(), 212);
  EXPECT_EQ(encoded(*tokenizer, "<extra>  "), TokenIds{211});
  EXPECT_EQ(tokenizer->target().id("<extra>"), 211);
  EXPECT_FALSE(tokenizer->is_special(211));
  tokenizer->save(copy.path(), 512);
  EXPECT_EQ(encoded(*load_tokenizer(copy.path()), "<extra>  "), TokenIds{211});
}

TEST(MarianTokenizer, TruncatesOnTheLeftIfTheConfigSaysSo) {
  const Copy copy("joint");
  const auto usual = load_tokenizer(copy.path());
  EXPECT_FALSE(usual->truncates_left());
  copy.change("tokenizer_config.json", [](Json& json) { json["truncation_side"] = "left"; });
  const auto other = load_tokenizer(copy.path());
  EXPECT_TRUE(other->truncates_left());
  EXPECT_NE(other->fingerprint(), usual->fingerprint());
}

TEST(MarianTokenizer, NamesWhatIsMissingOrDamaged) {
  const std::vector<std::pair<std::string, std::string>> missing = {
      {"source.spm", ": not a complete Marian tokenizer, missing file source.spm"},
      {"target.spm", ": not a complete Marian tokenizer, missing file target.spm"},
      {"vocab.json", ": not a complete Marian tokenizer, missing file vocab.json"},
      {"target_vocab.json", ": not a complete Marian tokenizer, missing file target_vocab.json"}};
  for (const auto& [file, message] : missing) {
    const Copy copy("separate");
    copy.remove(file);
    EXPECT_EQ(copy.message(), message);
  }
  const Copy damaged("joint");
  test::Folder::write_to(damaged.path() + "/target.spm", "no model");
  EXPECT_TRUE(damaged.message().starts_with("/target.spm: ")) << damaged.message();
  const Copy twice("joint");
  twice.change("vocab.json", [](Json& pieces) { pieces["again"] = 5; });
  EXPECT_EQ(twice.message(), "/vocab.json: id 5 is duplicated, at 'again'");
  const Copy unknown("joint");
  unknown.change("vocab.json", [](Json& pieces) { pieces.erase("<unk>"); });
  EXPECT_EQ(unknown.message(),
            "/vocab.json: no unknown piece '<unk>' in the vocabulary, it is required");
}

TEST(MarianTokenizer, RefusesWhatItDoesNotDo) {
  const Copy sampling("joint");
  sampling.change("tokenizer_config.json", [](Json& config) {
    config["sp_model_kwargs"] = {{"enable_sampling", true}};
  });
  EXPECT_EQ(sampling.message(),
            "/tokenizer_config.json.sp_model_kwargs: SentencePiece subword regularization is not "
            "supported, must be {}");
  const Copy pads("separate");
  pads.change("target_vocab.json", [](Json& pieces) {
    pieces.erase("<pad>");
    pieces["more"] = 145;
    pieces["<pad>"] = 146;
  });
  EXPECT_EQ(pads.message(),
            "/target_vocab.json: '<pad>' does not have the id 145 as in vocab.json, added and "
            "special tokens "
            "must have the same id on both sides");
}

}  // namespace
}  // namespace weft::data
