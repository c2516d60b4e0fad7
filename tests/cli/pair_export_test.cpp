#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "support/folder.h"

namespace weft::cli {
namespace {

// The check runs both models on synthetic inputs, which must be valid for them.
TEST(PairExport, ChecksModelsWithASourceAndATarget) {
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

}  // namespace
}  // namespace weft::cli
