// Checkpoints that were damaged after they were written.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "formats/error.h"
#include "formats/safetensors.h"
#include "support/config.h"
#include "train/checkpoint/checkpoint.h"
#include "train/forked_runs.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

using Damage = std::pair<std::string, std::function<std::string(std::string)>>;

/// Flips spread over the file (every byte of its first 64, which contain the header lengths),
/// blocks of zeros, ends cut off.
std::vector<Damage> damages(std::size_t size) {
  std::vector<Damage> result;
  const std::size_t step = test::stride(std::max<std::size_t>(1, size / 40));
  for (std::size_t at = 0; at < size; at += at < 64 ? 1 : step) {
    result.emplace_back("a bit flipped at " + std::to_string(at), [at](std::string bytes) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
      return bytes;
    });
  }
  for (const std::size_t at : {std::size_t{0}, size / 3, size - std::min<std::size_t>(size, 512)}) {
    result.emplace_back("a block of zeros at " + std::to_string(at), [at](std::string bytes) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  std::min<std::size_t>(512, bytes.size() - at), '\0');
      return bytes;
    });
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, size / 2, size - 1}) {
    result.emplace_back("cut to " + std::to_string(length),
                        [length](const std::string& bytes) { return bytes.substr(0, length); });
  }
  result.emplace_back("grown", [](const std::string& bytes) { return bytes + '\n'; });
  return result;
}

class CheckpointCorruptionTest : public test::ForkedRuns {
 protected:
  void SetUp() override { ASSERT_EQ(train(config("run")), test::kDone) << stderr_text(); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(newest_path())) {
      if (entry.is_regular_file()) {
        names.push_back(fs::relative(entry.path(), newest_path()).string());
      }
    }
    return names;
  }
  std::string newest_path() const { return small_.path("run/checkpoint-4"); }

  /// The checkpoint before is found, and the file named in a warning.
  void expect_skipped(const std::string& name, const std::string& what) const {
    log::set_level(log::Level::kWarning);
    testing::internal::CaptureStderr();
    const auto found = newest_valid_checkpoint(small_.path("run"));
    const auto words = testing::internal::GetCapturedStderr();
    log::set_level(log::Level::kError);
    ASSERT_TRUE(found) << name << ": " << what;
    EXPECT_EQ(found->state.progress.steps, 2) << name << ": " << what << " is not detected";
    EXPECT_NE(words.find("warning: [checkpoint] skipped: " + newest_path() + "/" + name),
              std::string::npos)
        << name << ": " << what << ": " << words;
  }
};

TEST_F(CheckpointCorruptionTest, IsDetectedInEveryRegionOfEveryFile) {
  int detected = 0;
  const auto names = files();
  ASSERT_GE(names.size(), 8U);
  for (const auto& name : names) {
    const auto path = newest_path() + "/" + name;
    const auto good = test::Folder::read(path);
    for (const auto& [what, damage] : damages(good.size())) {
      const auto bad = damage(good);
      if (bad == good) {
        continue;
      }
      test::Folder::write_to(path, bad);
      expect_skipped(name, what);
      ++detected;
    }
    fs::remove(path);
    expect_skipped(name, "removed");
    test::Folder::write_to(path, good);
  }
  RecordProperty("detected", detected);
  EXPECT_GE(detected, 400);
  EXPECT_EQ(newest("run"), 4);
}

TEST_F(CheckpointCorruptionTest, NamesTheTensorThatIsDamaged) {
  const auto path = newest_path() + "/model.safetensors";
  auto bytes = test::Folder::read(path);
  bytes[bytes.size() - 1] = static_cast<char>(bytes[bytes.size() - 1] ^ 1);
  test::Folder::write_to(path, bytes);
  const auto last = [&] {
    const formats::SafetensorsFile file(path);
    std::string name;
    const std::byte* end = nullptr;
    for (const auto& [key, tensor] : file.tensors()) {
      if (tensor.bytes.data() + tensor.bytes.size() > end) {
        end = tensor.bytes.data() + tensor.bytes.size();
        name = key;
      }
    }
    return name;
  }();
  EXPECT_EQ(test::message_of<formats::Error>([&] { verify_manifest(newest_path()); }),
            path + ": damaged: its checksum differs from the manifest (" + last + ")");
  bytes = test::Folder::read(path);
  bytes[20] = static_cast<char>(bytes[20] ^ 1);
  test::Folder::write_to(path, bytes);
  EXPECT_EQ(test::message_of<formats::Error>([&] { verify_manifest(newest_path()); }),
            path + ": damaged: its checksum differs from the manifest (its header)");
}

TEST_F(CheckpointCorruptionTest, OfTheNewestCheckpointCostsOnlyItsSteps) {
  fs::copy(small_.path("run"), small_.path("straight"),
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  for (const auto* name : {"/model.safetensors", "/training/state.json"}) {
    fs::resize_file(newest_path() + name, 100);
    ASSERT_EQ(train(config("run")), test::kDone) << stderr_text();
    EXPECT_NE(stderr_text().find("skipped: " + newest_path() + name), std::string::npos)
        << stderr_text();
    EXPECT_NE(stderr_text().find("resuming from " + small_.path("run/checkpoint-2")),
              std::string::npos);
    expect_same("straight", "run", name);
  }
}

}  // namespace
}  // namespace weft::train
