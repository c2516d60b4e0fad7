#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "formats/safetensors.h"
#include "models/weights/tensors.h"
#include "support/config.h"
#include "support/json_lines.h"
#include "support/program.h"
#include "support/tensors.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

const std::string kEmbedReference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/sentences/";
const std::string kEmbedModel = kEmbedReference + "model";

nlohmann::json expected() {
  nlohmann::json value;
  std::ifstream(kEmbedReference + "expected.json") >> value;
  return value;
}

void expect_near_json(const nlohmann::json& found, const nlohmann::json& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].get<double>(), wanted[i].get<double>(), 1e-5);
  }
}

TEST(Embed, WritesOneVectorALineInOrder) {
  const auto done = test::weft({"embed", kEmbedModel, "--input", kEmbedReference + "lines.txt"});
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = test::json_lines<nlohmann::json>(done.out);
  const auto wanted = expected()["whole"];
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_near_json(found[i]["embedding"], wanted[i]);
  }
  EXPECT_NE(done.err.find("1 of 6 texts was truncated to 12 tokens"), std::string::npos)
      << done.err;
}

TEST(Embed, ReadsJsonLinesUnlessTheyArePlain) {
  const std::string input = "{\"text\": \"dog\"}\n{\"text\": \"\"}\n";
  const auto done = test::weft({"embed", kEmbedModel}, input);
  ASSERT_EQ(done.status, 0) << done.err;
  const auto found = test::json_lines<nlohmann::json>(done.out);
  ASSERT_EQ(found.size(), 2U);
  expect_near_json(found[0]["embedding"], expected()["whole"][1]);
  expect_near_json(found[1]["embedding"], expected()["whole"][2]);
  const auto after_blank = test::weft({"embed", kEmbedModel}, "\n  \n" + input);
  EXPECT_EQ(after_blank.out, done.out);
  EXPECT_NE(after_blank.err.find("2 blank"), std::string::npos) << after_blank.err;
  const auto words = test::weft({"embed", kEmbedModel}, "\ndog\n\n");
  EXPECT_EQ(words.out, test::weft({"embed", kEmbedModel, "--plain"}, "\ndog\n\n").out);
  EXPECT_EQ(test::json_lines<nlohmann::json>(words.out).size(), 3U);
  const auto plain = test::weft({"embed", kEmbedModel, "--plain"}, input);
  EXPECT_NE(plain.out, done.out);
  const auto broken = test::weft({"embed", kEmbedModel}, "{\"text\": \"dog\"}\n{\"txt\": 1}\n");
  EXPECT_EQ(broken.status, 2);
  EXPECT_NE(broken.err.find("standard input:2: not a JSON object with \"text\""), std::string::npos)
      << broken.err;
}

TEST(Embed, ReadsTextsOfTheCommandLine) {
  const auto done = test::weft({"embed", kEmbedModel, "dog", "--text", ""});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, test::weft({"embed", kEmbedModel, "--plain"}, "dog\n\n").out);
  EXPECT_EQ(test::weft({"embed", kEmbedModel, "dog", "--plain"}).err,
            "error: weft embed: --plain and texts on the command line are mutually exclusive\n");
}

TEST(Embed, ReadsTables) {
  const test::TemporaryDirectory folder;
  test::write(folder / "rows.csv", "id,text,note\n1,dog,\"a, b\"\n2,,c\n");
  test::write(folder / "lines.txt", "dog\n\n");
  const auto vectors = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = {"embed", kEmbedModel, "--input"};
    command.insert(command.end(), options.begin(), options.end());
    const auto done = test::weft(command);
    EXPECT_EQ(done.status, 0) << done.err;
    return done.out;
  };
  const auto wanted = vectors({folder / "lines.txt"});
  EXPECT_EQ(vectors({folder / "rows.csv"}), wanted);
  EXPECT_EQ(test::json_lines<nlohmann::json>(vectors({folder / "rows.csv", "--plain"})).size(), 3U);
  test::write(folder / "rows.tsv", "body\tid\ndog\t1\n\t2\n");
  EXPECT_EQ(vectors({folder / "rows.tsv", "--text-column", "body"}), wanted);
  const auto missing = test::weft({"embed", kEmbedModel, "--input", folder / "rows.tsv"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_NE(missing.err.find("choose one of 'body', 'id' with --text-column"), std::string::npos)
      << missing.err;
}

TEST(Embed, WritesTensorsAndTables) {
  const test::TemporaryDirectory folder;
  const auto path = folder / "vectors.safetensors";
  ASSERT_EQ(run_embed({kEmbedModel, "--input", kEmbedReference + "lines.txt", "--format",
                       "safetensors", "--output", path}),
            0);
  const formats::SafetensorsFile file(path);
  const auto vectors = models::tensor_of(file.at("embeddings"));
  EXPECT_EQ(vectors.sizes(), (std::vector<int64_t>{6, 5}));
  const auto table = test::weft({"embed", kEmbedModel, "--format", "tsv"}, "dog\n");
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_FLOAT_EQ(std::stof(table.out), vectors[1][0].item<float>());
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\t'), 4);
}

TEST(Embed, PlainModelIsPooledAsAsked) {
  const test::TemporaryDirectory folder;
  const auto model = folder / "model";
  fs::copy(kEmbedModel, model, fs::copy_options::recursive);
  fs::remove(model + "/modules.json");
  const auto first = [&](const std::vector<std::string>& options) {
    std::vector<std::string> command = {"embed", model};
    command.insert(command.end(), options.begin(), options.end());
    const auto done = test::weft(command, "dog\n");
    EXPECT_EQ(done.status, 0) << done.err;
    return test::json_lines<nlohmann::json>(done.out).at(0)["embedding"];
  };
  expect_near_json(first({}), expected()["pooled"]["mean"][1]);
  expect_near_json(first({"--pooling", "cls"}), expected()["pooled"]["cls"][1]);
  double square = 0;
  for (const auto& value : first({"--normalize"})) {
    square += value.get<double>() * value.get<double>();
  }
  EXPECT_NEAR(square, 1, 1e-6);
}

TEST(Embed, RefusesWhatDoesNotGoTogether) {
  const auto message = [](const std::vector<std::string>& arguments) {
    return test::message_of<UserError>([&] { run_embed(arguments); });
  };
  EXPECT_NE(message({kEmbedModel, "--pooling", "mean"}).find("defines its own pooling"),
            std::string::npos);
  EXPECT_EQ(
      message({kEmbedModel, "--format", "csv"}),
      "weft embed: --format: 'csv' is not one of jsonl, tsv, safetensors, did you mean 'tsv'?");
  EXPECT_EQ(message({kEmbedModel, "--format", "safetensors"}),
            "weft embed: --format safetensors needs --output FILE");
  EXPECT_NE(message({kEmbedModel, "--poling", "mean"}).find("did you mean '--pooling'?"),
            std::string::npos);
}

TEST(Embed, ExportKeepsTheModulesOfABareEncoder) {
  const test::TemporaryDirectory folder;
  const auto source = std::string(WEFT_SOURCE_DIR) + "/tests/reference/models/bert-model";
  const auto sentence = folder / "sentence";
  fs::copy(kEmbedModel, sentence, fs::copy_options::recursive);
  for (const auto* name : {"config.json", "model.safetensors"}) {
    fs::copy_file(source + "/" + name, sentence + "/" + name, fs::copy_options::overwrite_existing);
  }
  const auto bare = folder / "bare";
  ASSERT_EQ(run_export({sentence, "--output", bare}), 0);
  for (const auto* name : {"modules.json", "sentence_bert_config.json", "1_Pooling/config.json",
                           "2_Dense/model.safetensors"}) {
    EXPECT_TRUE(fs::exists(bare + "/" + name)) << name;
  }
  const auto classifier = std::string(WEFT_SOURCE_DIR) + "/tests/reference/models/bert-sequence";
  for (const auto* name : {"config.json", "model.safetensors"}) {
    fs::copy_file(classifier + "/" + name, sentence + "/" + name,
                  fs::copy_options::overwrite_existing);
  }
  const auto other = folder / "classifier";
  ASSERT_EQ(run_export({sentence, "--output", other}), 0);
  for (const auto* name : {"modules.json", "sentence_bert_config.json", "1_Pooling"}) {
    EXPECT_FALSE(fs::exists(other + "/" + name)) << name;
  }
}

}  // namespace
}  // namespace weft::cli
