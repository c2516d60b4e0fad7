#include "train/checkpoint/saver.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/fault.h"
#include "base/log.h"
#include "train/checkpoint/manifest.h"
#include "train/small_run.h"
#include "train/step/trial.h"

namespace weft::train {
namespace {

class SaverTest : public ::testing::Test {
 protected:
  SaverTest() : directory_(small_.path("saved")) { log::set_level(log::Level::kError); }
  ~SaverTest() override { fault::set_plan(""); }

  Saver saver(int64_t free) const {
    return {directory_, {.is_async = true, .run = {}, .free_memory = [free] { return free; }}};
  }

  test::SmallRun small_;
  RunDirectory directory_;
};

TEST_F(SaverTest, CopyIsWhatWasWhenTheSaveBegan) {
  Trial trial(small_.config("mlm", "run"), false);
  auto& trainer = trial.trainer();
  trial.step();
  auto under_test = saver(int64_t{1} << 40);
  fault::set_plan("flush@saved:1+:slow");
  under_test.start(trainer.checkpoint_parts(), trainer.state());
  trial.step();  // changes weights and moments while the copy is written
  const auto saved = under_test.take();
  ASSERT_TRUE(saved);
  EXPECT_FALSE(saved->failure);
  EXPECT_EQ(saved->step, 1);
  EXPECT_FALSE(under_test.take()) << "taken twice";

  Trial other(small_.config("mlm", "other"), false);
  other.step();
  const RunDirectory plain(small_.path("plain"));
  Saver(plain, {.is_async = false})
      .save(other.trainer().checkpoint_parts(), other.trainer().state());
  for (const auto* name : {"model.safetensors", "training/optimizer.safetensors"}) {
    EXPECT_TRUE(small_.file(std::string("saved/checkpoint-1/") + name) ==
                small_.file(std::string("plain/checkpoint-1/") + name))
        << name;
  }
}

TEST_F(SaverTest, WithoutMemoryForACopyTheRunWaitsAndIsTold) {
  Trial trial(small_.config("mlm", "run"), false);
  trial.step();
  const auto parts = trial.trainer().checkpoint_parts();
  EXPECT_EQ(copied_bytes(parts), static_cast<int64_t>(3 * parts.master.nbytes()));
  auto under_test = saver(copied_bytes(parts));  // without the margin
  log::set_level(log::Level::kWarning);
  testing::internal::CaptureStderr();
  under_test.start(parts, trial.trainer().state());
  EXPECT_TRUE(under_test.has_ended()) << "it did not wait";
  const auto words = testing::internal::GetCapturedStderr();
  log::set_level(log::Level::kError);
  EXPECT_NE(words.find("warning: [checkpoint] no memory for a copy ("), std::string::npos) << words;
  EXPECT_FALSE(under_test.take()->failure);
  EXPECT_NO_THROW(verify(small_.path("saved/checkpoint-1")));
}

}  // namespace
}  // namespace weft::train
