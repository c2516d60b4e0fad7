#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "formats/json.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::cli {
namespace {

// The check runs both models on synthetic inputs, which must be valid for them.
TEST(Export, ChecksModelsWithASourceAndATarget) {
  for (const std::string name :
       {"t5-generation", "bart-generation", "bart-sequence", "marian-two-vocabularies"}) {
    const test::Folder folder;
    const auto output = folder.path("out");
    EXPECT_EQ(run_export({std::string(WEFT_SOURCE_DIR) + "/tests/reference/models/" + name,
                          "--output", output, "--check"}),
              0)
        << name;
    EXPECT_TRUE(std::filesystem::exists(output + "/model.safetensors")) << name;
    EXPECT_EQ(std::filesystem::exists(output + "/generation_config.json"), name != "bart-sequence");
  }
}

TEST(Export, LeavesOtherDirectoriesAlone) {
  const test::Folder folder;
  std::filesystem::create_directory(folder.path("out.tmp"));
  folder.write("out.tmp/notes.txt", "precious");
  const auto reference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/models/bert-sequence";
  EXPECT_EQ(run_export({reference, "--output", folder.path("out")}), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path("out.tmp/notes.txt")));
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path(""))) {
    ++entries;
  }
  EXPECT_EQ(entries, 2);
}

TEST(Export, KeepsTheGivenLayers) {
  const test::Folder folder;
  const auto models = std::string(WEFT_SOURCE_DIR) + "/tests/reference/models/";
  const auto export_layers = [&](const std::string& name, std::vector<std::string> options) {
    const auto output = folder.path(name + std::to_string(options.size()));
    options.insert(options.begin(), {models + name, "--check", "--output", output});
    EXPECT_EQ(run_export(options), 0);
    return formats::read_json(output + "/config.json");
  };
  EXPECT_EQ(export_layers("bert-masked-lm", {"--layers", "last"}).at("num_hidden_layers"), 1);
  const auto bart = export_layers("bart-generation", {"--layers", "0", "--decoder-layers", "1"});
  EXPECT_EQ(bart.at("encoder_layers"), 1);
  EXPECT_EQ(bart.at("decoder_layers"), 1);
  const auto message = [&](const std::string& name, const std::vector<std::string>& options) {
    auto all = options;
    all.insert(all.begin(), {models + name, "--output", folder.path("none")});
    return test::message_of<UserError>([&] { run_export(all); });
  };
  EXPECT_EQ(message("bert-masked-lm", {"--layers", "0,7"}),
            "--layers: '7' is not a layer, allowed is all, last, or layer numbers from 0 to 1, "
            "comma-separated");
  EXPECT_EQ(message("bert-masked-lm", {"--decoder-layers", "0"}),
            "weft export: --decoder-layers is for encoder-decoders, found BertForMaskedLM");
}

}  // namespace
}  // namespace weft::cli
