#include "train/run/run_directory.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/folder.h"
#include "train/checkpoint/checkpoint.h"

namespace weft::train {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public ::testing::Test {
 protected:
  RunDirectoryTest() : directory_(folder_.path("run")) {}
  void make(const std::vector<int64_t>& steps) const {
    for (const auto step : steps) {
      make_directories(folder_.path("run/" + checkpoint_name(step) + "/training"));
    }
  }
  std::vector<int64_t> steps() const { return checkpoint_steps(folder_.path("run")); }
  std::string link(const std::string& name) const {
    return fs::read_symlink(folder_.path("run/" + name)).string();
  }
  test::Folder folder_;
  RunDirectory directory_;
};

TEST_F(RunDirectoryTest, KeepsTheNewestAndTheBest) {
  make({10, 20, 30, 40});
  RunOptions options;
  options.keep_best = 1;
  options.keep_last = 2;
  directory_.update_links({{.step = 10, .value = 0.5}}, options);
  EXPECT_EQ(steps(), (std::vector<int64_t>{10, 30, 40}));
  EXPECT_EQ(link("last"), "checkpoint-40");
  EXPECT_EQ(link("best"), "checkpoint-10");
}

TEST_F(RunDirectoryTest, KnowsWhatItWouldClear) {
  make_directories(folder_.path("run/mine"));
  EXPECT_FALSE(directory_.would_clear(folder_.path("run")));  // nothing to clear yet
  make({10});
  fs::create_symlink(folder_.path("run/checkpoint-10"), folder_.path("link"));
  for (const auto* cleared : {"run", "run/checkpoint-10", "run/checkpoint-10/training", "link"}) {
    EXPECT_TRUE(directory_.would_clear(folder_.path(cleared))) << cleared;
  }
  for (const auto* kept : {"run/mine", "run/mine/model", "run2", ""}) {
    EXPECT_FALSE(directory_.would_clear(folder_.path(kept))) << kept;
  }
  EXPECT_FALSE(directory_.would_clear(""));
  EXPECT_FALSE(directory_.would_clear("mlm"));
  directory_.clear();
  EXPECT_TRUE(steps().empty());
  EXPECT_TRUE(fs::exists(folder_.path("run/mine")));
}

TEST_F(RunDirectoryTest, HasNoBestCheckpointIfNoneIsKept) {
  make({10, 20});
  RunOptions options;
  options.keep_best = 0;
  options.keep_last = 1;
  directory_.update_links({{.step = 10, .value = 0.5}}, options);
  EXPECT_EQ(steps(), (std::vector<int64_t>{20}));
  EXPECT_FALSE(fs::is_symlink(folder_.path("run/best")));
}

TEST_F(RunDirectoryTest, RemovesWhatWasHalfDone) {
  make({10});
  make_directories(folder_.path("run/checkpoint-20.tmp/training"));
  make_directories(folder_.path("run/checkpoint-5.old.tmp"));
  directory_.remove_leftovers();
  EXPECT_FALSE(fs::exists(folder_.path("run/checkpoint-20.tmp")));
  EXPECT_FALSE(fs::exists(folder_.path("run/checkpoint-5.old.tmp")));
  EXPECT_EQ(steps(), (std::vector<int64_t>{10}));
}

TEST_F(RunDirectoryTest, MarksLaterCheckpointsAsSuperseded) {
  make({10, 20});
  directory_.mark_superseded_after(10);
  EXPECT_EQ(steps(), (std::vector<int64_t>{10}));
  EXPECT_TRUE(fs::exists(folder_.path("run/checkpoint-20.superseded")));
}

TEST_F(RunDirectoryTest, OtherRanksChangeNothing) {
  make({10, 20});
  make_directories(folder_.path("run/checkpoint-30.tmp/training"));
  const RunDirectory other(folder_.path("run"), RunAccess::kRead);  // although it is locked
  other.remove_leftovers();
  other.mark_superseded_after(10);
  other.clear();
  EXPECT_TRUE(fs::exists(folder_.path("run/checkpoint-30.tmp")));
  EXPECT_EQ(steps(), (std::vector<int64_t>{10, 20}));
}

TEST_F(RunDirectoryTest, IsHeldByOneAtATime) {
  EXPECT_THROW(RunDirectory(folder_.path("run")), UserError);
}

}  // namespace
}  // namespace weft::train
