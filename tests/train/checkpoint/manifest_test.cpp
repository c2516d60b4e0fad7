#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/file.h"
#include "formats/error.h"
#include "support/folder.h"
#include "train/checkpoint/checkpoint.h"

namespace weft::train {
namespace {

class ManifestTest : public ::testing::Test {
 protected:
  ManifestTest() {
    make_directories(folder_.path("training"));
    folder_.write("weights.bin", std::string(1000, 'w'));
    folder_.write("training/state.json", "{}");
    write_manifest(folder_.path());
  }
  test::Folder folder_;
};

TEST_F(ManifestTest, MatchesTheWrittenFiles) {
  EXPECT_TRUE(has_manifest(folder_.path()));
  EXPECT_NO_THROW(verify_manifest(folder_.path()));
}

TEST_F(ManifestTest, FindsEveryFlippedBitOfEveryFile) {
  for (const auto* name : {"weights.bin", "training/state.json", "training/manifest.json"}) {
    const auto path = folder_.path(name);
    const auto good = test::Folder::read(path);
    for (std::size_t at = 0; at < good.size(); ++at) {
      auto bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      folder_.write(name, bad);
      EXPECT_THROW(verify_manifest(folder_.path()), formats::Error) << name << " byte " << at;
    }
    folder_.write(name, good);
  }
  EXPECT_NO_THROW(verify_manifest(folder_.path()));
}

TEST_F(ManifestTest, FindsTruncatedAndMissingFiles) {
  folder_.write("weights.bin", std::string(999, 'w'));
  EXPECT_THROW(verify_manifest(folder_.path()), formats::Error);
  std::filesystem::remove(folder_.path("weights.bin"));
  EXPECT_THROW(verify_manifest(folder_.path()), formats::Error);
}

}  // namespace
}  // namespace weft::train
