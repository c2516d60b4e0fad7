#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;
using formats::Json;

const std::string kTokenizerFilesFolder =
    std::string(WEFT_SOURCE_DIR) + "/tests/reference/tokenizers";

std::string tokenizer_files_message(const std::string& path) {
  return test::message_of<UserError>([&] { load_tokenizer(path); });
}

/// A modified tokenizer.json, and its error message.
std::string message_after(const std::string& kind, const std::function<void(Json&)>& change) {
  const test::Folder folder;
  Json json = formats::read_json(kTokenizerFilesFolder + "/" + kind + "/tokenizer.json");
  change(json);
  folder.write("tokenizer.json", json.dump());
  const std::string found = tokenizer_files_message(folder.path());
  const std::string file = folder.path("tokenizer.json");
  EXPECT_EQ(found.substr(0, file.size()), file) << found;
  EXPECT_LT(found.size(), 500U);
  return found.substr(std::min(found.size(), file.size()));
}

/// How a unigram model with these scores of 9, 0 and 00 cuts 9000.
std::vector<int32_t> cut_9000(double nine, double zero, double zeros) {
  const test::Folder folder;
  Json pieces = Json::array();
  pieces.push_back(Json::array({"<unk>", 0.0}));
  pieces.push_back(Json::array({"9", nine}));
  pieces.push_back(Json::array({"0", zero}));
  pieces.push_back(Json::array({"00", zeros}));
  const Json json = {{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", pieces}}}};
  folder.write("tokenizer.json", json.dump());
  std::vector<int32_t> ids;
  load_tokenizer(folder.path())->encode("9000", ids);
  return ids;
}

// The sums are equal as written; of seventeen digits `tokenizers` loses some. The ids are its own.
TEST(TokenizerFiles, ScoresAreReadAsTokenizersReadsThem) {
  EXPECT_EQ(cut_9000(-11.121293067932129, -9.806000709533691, -10.314305305480957),
            (std::vector<int32_t>{1, 3, 2}));
  EXPECT_EQ(cut_9000(-11.125, -9.75, -10.375), (std::vector<int32_t>{1, 2, 3}));
}

TEST(TokenizerFiles, LlamasPiecesAreFramedAsTheConfigSays) {
  const test::Folder folder;
  fs::copy_file(kTokenizerFilesFolder + "/pieces_bytes/spiece.model",
                folder.path("tokenizer.model"));
  folder.write("config.json", R"({"model_type": "llama"})");
  const auto sequence = [&](const std::string& config) {
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizer")" + config + "}");
    return load_tokenizer(folder.path())->sequence({7}, {8});
  };
  EXPECT_EQ(sequence("").ids, (std::vector<int32_t>{7, 8}));
  EXPECT_EQ(sequence(R"(, "add_bos_token": true)").ids, (std::vector<int32_t>{1, 7, 1, 8}));
  const auto both = sequence(R"(, "add_bos_token": true, "add_eos_token": true)");
  EXPECT_EQ(both.ids, (std::vector<int32_t>{1, 7, 2, 1, 8, 2}));
  EXPECT_EQ(both.token_type_ids, (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
}

TEST(TokenizerFiles, DefineTheTruncationSide) {
  const auto read = [](const Json& truncation, const Json& side) {
    const test::Folder folder;
    Json json = formats::read_json(kTokenizerFilesFolder + "/word_level/tokenizer.json");
    json["truncation"] = truncation;
    folder.write("tokenizer.json", json.dump());
    folder.write("tokenizer_config.json", Json({{"truncation_side", side}}).dump());
    const auto tokenizer = load_tokenizer(folder.path());
    tokenizer->save(folder.path("saved"), 512);
    EXPECT_EQ(load_tokenizer(folder.path("saved"))->truncates_left(), tokenizer->truncates_left());
    return tokenizer;
  };
  const Json left = {{"direction", "Left"}, {"max_length", 8}};
  EXPECT_FALSE(read(nullptr, nullptr)->truncates_left());
  EXPECT_TRUE(read(nullptr, "left")->truncates_left());
  EXPECT_TRUE(read(left, nullptr)->truncates_left());
  EXPECT_FALSE(read(left, "right")->truncates_left());
  EXPECT_NE(read(nullptr, "left")->fingerprint(), read(nullptr, "right")->fingerprint());
  EXPECT_TRUE(test::message_of<UserError>([&] {
                read(nullptr, "middle");
              }).ends_with("truncation_side: found 'middle', must be left or right"));
}

TEST(TokenizerFiles, TheClassOfGptNeoxComposesCharacters) {
  const auto ids = [](const std::string& name, const std::string& line) {
    const test::Folder folder;
    fs::copy_file(kTokenizerFilesFolder + "/gpt2/tokenizer.json", folder.path("tokenizer.json"));
    folder.write("tokenizer_config.json", R"({"tokenizer_class": ")" + name + "\"}");
    return load_tokenizer(folder.path())->ids(line);
  };
  EXPECT_EQ(ids("GPTNeoXTokenizer", "cafe\u0301"), ids("GPT2Tokenizer", "caf\u00E9"));
  EXPECT_NE(ids("GPT2Tokenizer", "cafe\u0301"), ids("GPT2Tokenizer", "caf\u00E9"));
}

TEST(TokenizerFiles, NameTheDamageInJson) {
  EXPECT_EQ(message_after("bert_uncased", [](Json& t) { t.erase("model"); }), ": no 'model'");
  EXPECT_EQ(message_after("bert_uncased", [](Json& t) { t["model"].erase("vocab"); }),
            ".model: no 'vocab'");
  EXPECT_EQ(message_after("bert_uncased", [](Json& t) { t["model"]["type"] = "WordPeace"; }),
            ".model.type: 'WordPeace' is not one of WordPiece, BPE, Unigram, WordLevel");
  EXPECT_NE(message_after("bert_uncased",
                          [](Json& t) {
                            t["normalizer"] = {{"type", "Nonsense"}};
                          })
                .find(".normalizer.type: 'Nonsense' is not one of"),
            std::string::npos);
  EXPECT_NE(message_after("gpt2",
                          [](Json& t) {
                            t["pre_tokenizer"] = {{"type", "Nonsense"}};
                          })
                .find(".pre_tokenizer.type: 'Nonsense' is not one of"),
            std::string::npos);
  EXPECT_NE(
      message_after("gpt2", [](Json& t) { t["added_tokens"] = "none"; }).find("must be a list"),
      std::string::npos);
  EXPECT_EQ(message_after("gpt2",
                          [](Json& t) {
                            t["model"]["merges"] = Json::array({Json::array({"no", "such"})});
                          }),
            ".model.merges[0]: 'no' is not in the vocabulary");
  EXPECT_EQ(message_after("gpt2",
                          [](Json& t) {
                            t["model"]["merges"] = Json::array({1, 2});
                          }),
            ".model.merges[0]: must be two pieces");
  EXPECT_NE(message_after("unigram", [](Json& t) { t["model"]["unk_id"] = 1'000'000'000; })
                .find("unk_id"),
            std::string::npos);
  EXPECT_NE(
      message_after("unigram",
                    [](Json& t) {
                      t["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}};
                    })
          .find("not a SentencePiece character map"),
      std::string::npos);
  EXPECT_NE(
      message_after("bert_uncased", [](Json& t) { t["model"]["vocab"]["far"] = 2'000'000'000; })
          .find("too large"),
      std::string::npos);
  EXPECT_NE(message_after("gpt2",
                          [](Json& t) {
                            t["pre_tokenizer"] = {{"type", "Split"},
                                                  {"pattern", {{"Regex", "(unclosed"}}},
                                                  {"behavior", "Isolated"},
                                                  {"invert", false}};
                          })
                .find("end pattern with unmatched parenthesis"),
            std::string::npos);
}

TEST(TokenizerFiles, MissingOnesAreNamed) {
  const test::Folder folder;
  EXPECT_NE(tokenizer_files_message(folder.path()).find("no tokenizer found"), std::string::npos);
  EXPECT_EQ(tokenizer_files_message(folder.path("nothing")),
            folder.path("nothing") + ": no such file or directory");
}

TEST(TokenizerFiles, PiecesThatNeedMosesAreRefused) {
  const test::Folder folder;
  folder.write("config.json", R"({"model_type": "xlm"})");
  const auto file = folder.write("vocab.json", R"({"<s>": 0, "a</w>": 1})");
  folder.write("merges.txt", "a </w>\n");
  EXPECT_EQ(test::message_of<Error>([&] { load_tokenizer(folder.path()); }),
            file +
                ": XLMTokenizer needs the Moses tokenizer, which is not supported; a "
                "tokenizer.json is required in the same directory");
}

TEST(TokenizerFiles, DamagedSentencePieceModelsAreRefused) {
  const test::Folder folder;
  const std::string sound =
      test::Folder::read(kTokenizerFilesFolder + "/pieces_unigram/spiece.model");
  const std::string file = folder.path("damaged.model");
  for (const std::string& bytes : {std::string(), sound.substr(0, sound.size() - 1),
                                   std::string("no model\n"), std::string(500, '\xff')}) {
    folder.write("damaged.model", bytes);
    EXPECT_TRUE(tokenizer_files_message(file).starts_with(file)) << tokenizer_files_message(file);
  }
}

TEST(TokenizerFiles, RulesThatBlowUpATextAreStopped) {
  const test::Folder folder;
  Json json = formats::read_json(kTokenizerFilesFolder + "/word_piece_forms/tokenizer.json");
  const Json rule = {
      {"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}};
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json(std::vector<Json>(9, rule))}};
  folder.write("tokenizer.json", json.dump());
  const auto tokenizer = load_tokenizer(folder.path());
  std::vector<int32_t> ids;
  EXPECT_NE(test::message_of<UserError>([&] { tokenizer->encode("a", ids); }).find("256 MiB"),
            std::string::npos);
}

TEST(TokenizerFiles, BareModelSavesAsDirectoryWithTheSameIds) {
  const auto lines =
      formats::read_json(kTokenizerFilesFolder + "/lines.json").get<std::vector<std::string>>();
  for (const std::string& name : {std::string("pieces_unigram"), std::string("pieces_bytes")}) {
    const test::Folder folder;
    const auto bare = load_tokenizer(kTokenizerFilesFolder + "/" + name + "/spiece.model");
    bare->save(folder.path(), 512);
    const auto whole = load_tokenizer(folder.path());
    EXPECT_EQ(whole->size(), bare->size());
    for (std::size_t i = 0; i < 13;
         ++i) {  // plain ones: odd clusters are read otherwise by `tokenizers`
      std::vector<int32_t> first;
      std::vector<int32_t> second;
      bare->encode(lines[i], first);
      whole->encode(lines[i], second);
      EXPECT_EQ(first, second) << name << ": " << lines[i];
    }
  }
}

TEST(TokenizerFiles, FlippedBitsNeverCrash) {
  const test::Folder folder;
  for (const std::string& name : {std::string("pieces_unigram"), std::string("pieces_bytes")}) {
    const std::string sound =
        test::Folder::read(kTokenizerFilesFolder + "/" + name + "/spiece.model");
    for (uint64_t trial = 0; trial < 300; ++trial) {
      Random random(trial, RandomPurpose::kSample, 0, 0);
      std::string bytes = sound;
      bytes[random.uniform_int(bytes.size())] ^= static_cast<char>(1U << random.uniform_int(8));
      const std::string file = folder.write("flipped.model", bytes);
      try {
        std::vector<int32_t> ids;
        const auto tokenizer = load_tokenizer(file);
        tokenizer->encode("The weaver \u00E9 ½ 日本 [MASK] x", ids);
        tokenizer->decode(ids);
      } catch (const UserError& error) {
        EXPECT_NE(std::string(error.what()).find("flipped.model"), std::string::npos)
            << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace weft::data
