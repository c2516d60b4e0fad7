#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/program.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;
const std::string kSource = WEFT_SOURCE_DIR;

std::string shared_data() {
  const auto* given = std::getenv("WEFT_SHARED");
  return (given != nullptr ? std::string(given) : kSource + "/../shared") + "/data";
}

/// A working directory as a user has it: `configs`, `data`, and the large texts as `corpora` where
/// they are at hand.
class ConfigFile : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    fs::create_symlink(kSource + "/configs", directory_ / "configs");
    fs::create_symlink(kSource + "/data", directory_ / "data");
    if (fs::exists(shared_data())) {
      fs::create_symlink(shared_data(), directory_ / "corpora");
    }
    // What the header of char_gpt_shakespeare.yaml makes.
    fs::create_directories(directory_ / "runs/shakespeare");
    test::write(directory_ / "runs/shakespeare/train.txt", "Enter the king.\n");
    test::write(directory_ / "runs/shakespeare/valid.txt", "Exit.\n");
  }

  test::Finished weft(const std::string& arguments) {
    return test::run(
        {"/bin/sh", "-c", "cd '" + directory_.path() + "' && exec '" WEFT_BINARY "' " + arguments});
  }

  test::TemporaryDirectory directory_;
};

TEST_P(ConfigFile, PassesTheCheck) {
  const auto file = "configs/" + GetParam() + ".yaml";
  const auto content = test::contents(kSource + "/" + file);
  if (content.find(": corpora/") != std::string::npos && !fs::exists(directory_ / "corpora")) {
    GTEST_SKIP() << "its corpora are not at hand: WEFT_SHARED/data (lm_wikitext2, lm_novels, "
                    "sms_spam) is missing";
  }
  std::string without_start;
  if (content.find("\ninit_from: ") != std::string::npos) {
    // The run that it starts with is made by another config; here it starts from nothing.
    without_start =
        " --set init_from=null --set model.preset=bert-mini --set tokenizer.type=wordpiece";
  }
  const auto done = weft("config check " + file + without_start);
  EXPECT_EQ(done.status, 0) << done.err;
}

TEST_P(ConfigFile, SaysHowToRunIt) {
  const auto content = test::contents(kSource + "/configs/" + GetParam() + ".yaml");
  EXPECT_NE(content.find("# Run:    weft train configs/" + GetParam() + ".yaml"),
            std::string::npos);
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(kSource + "/configs")) {
    if (entry.path().extension() == ".yaml") {
      found.push_back(entry.path().stem().string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

INSTANTIATE_TEST_SUITE_P(Shipped,
                         ConfigFile,
                         ::testing::ValuesIn(names()),
                         [](const auto& parameter) { return parameter.param; });

}  // namespace
}  // namespace weft::cli
