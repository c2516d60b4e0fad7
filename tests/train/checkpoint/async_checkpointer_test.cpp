#include "train/checkpoint/async_checkpointer.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/fault_injection.h"
#include "base/log.h"
#include "train/checkpoint/checkpoint.h"
#include "train/small_run.h"
#include "train/step/probe_run.h"

namespace weft::train {
namespace {

class AsyncCheckpointerTest : public ::testing::Test {
 protected:
  AsyncCheckpointerTest() : directory_(small_.path("saved")) { log::set_level(log::Level::kError); }
  ~AsyncCheckpointerTest() override { fault::set_plan(""); }

  AsyncCheckpointer checkpointer(int64_t free) const {
    return {directory_, {.is_async = true, .run = {}, .free_memory = [free] { return free; }}};
  }

  test::SmallRun small_;
  RunDirectory directory_;
};

TEST_F(AsyncCheckpointerTest, CopyHasTheStateAtTheStartOfTheSave) {
  ProbeRun probe(small_.config("mlm", "run"), false);
  auto& trainer = probe.trainer();
  probe.step();
  auto under_test = checkpointer(int64_t{1} << 40);
  fault::set_plan("flush@saved:1+:slow");
  under_test.start(trainer.checkpoint_parts(), trainer.state());
  probe.step();  // changes weights and moments while the copy is written
  const auto saved = under_test.wait();
  ASSERT_TRUE(saved);
  EXPECT_FALSE(saved->failure);
  EXPECT_EQ(saved->step, 1);
  EXPECT_FALSE(under_test.wait()) << "taken twice";

  ProbeRun other(small_.config("mlm", "other"), false);
  other.step();
  const RunDirectory plain(small_.path("plain"));
  AsyncCheckpointer(plain, {.is_async = false})
      .save(other.trainer().checkpoint_parts(), other.trainer().state());
  for (const auto* name : {"model.safetensors", "training/optimizer.safetensors"}) {
    EXPECT_TRUE(small_.file(std::string("saved/checkpoint-1/") + name) ==
                small_.file(std::string("plain/checkpoint-1/") + name))
        << name;
  }
}

TEST_F(AsyncCheckpointerTest, WithoutMemoryForACopyTheRunWaitsAndWarns) {
  ProbeRun probe(small_.config("mlm", "run"), false);
  probe.step();
  const auto parts = probe.trainer().checkpoint_parts();
  EXPECT_EQ(snapshot_bytes(parts), static_cast<int64_t>(3 * parts.master.nbytes()));
  auto under_test = checkpointer(snapshot_bytes(parts));  // without the margin
  log::set_level(log::Level::kWarning);
  testing::internal::CaptureStderr();
  under_test.start(parts, probe.trainer().state());
  EXPECT_TRUE(under_test.is_done()) << "it did not wait";
  const auto words = testing::internal::GetCapturedStderr();
  log::set_level(log::Level::kError);
  EXPECT_NE(words.find("warning: [checkpoint] not enough memory for a copy ("), std::string::npos)
      << words;
  EXPECT_FALSE(under_test.wait()->failure);
  EXPECT_NO_THROW(verify_manifest(small_.path("saved/checkpoint-1")));
}

}  // namespace
}  // namespace weft::train
