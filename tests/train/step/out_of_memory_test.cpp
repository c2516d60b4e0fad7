#include "train/step/out_of_memory.h"

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "support/config.h"
#include "train/checkpoint/checkpoint.h"
#include "train/run/train.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

/// Fails the n-th tensor allocation from now on, and then all above a size limit in bytes.
class FailingAllocator : public c10::Allocator {
 public:
  FailingAllocator() : used_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this); }
  FailingAllocator(const FailingAllocator&) = delete;
  FailingAllocator& operator=(const FailingAllocator&) = delete;
  ~FailingAllocator() override { c10::SetCPUAllocator(used_); }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (countdown >= 0 && countdown-- == 0) {
      ++failures;
      fail(bytes);
    }
    if (bytes > most) {
      ++failures;
      fail(bytes);
    }
    return used_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return used_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    used_->copy_data(to, from, bytes);
  }

  int64_t countdown = -1;
  std::size_t most = ~std::size_t{0};
  int failures = 0;

 private:
  [[noreturn]] static void fail(std::size_t bytes) {
    TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
                " bytes. Error code 12 (Cannot allocate memory)");
    std::abort();
  }

  c10::Allocator* used_;
};

class OutOfMemoryTest : public ::testing::Test {
 protected:
  OutOfMemoryTest() { log::set_level(log::Level::kWarning); }
  ~OutOfMemoryTest() override { log::set_level(log::Level::kInfo); }

  static constexpr int64_t kGood = 3;  // steps before memory runs out

  RunConfig config(const std::string& directory, std::vector<std::string> more = {}) const {
    more.insert(more.begin(),
                {"train.log_every=1 steps", "data.num_workers=0", "train.save_async=false"});
    return small_.config("mlm", directory, more);
  }

  /// Log of a run whose n-th allocation after the first steps fails.
  std::string run_with_failure(const RunConfig& config, int64_t n, FailingAllocator& memory) const {
    test::CapturedStderr captured;
    run_training(config, {.on_step = [&](const TrainState& state) {
                   memory.countdown = state.progress.steps == kGood ? n : -1;
                 }});
    return captured.take();
  }

  /// The uninterrupted run whose micro-batches are smaller after the first steps.
  void run_with_micro_batches(const std::string& directory,
                              int64_t tokens,
                              std::vector<std::string> more = {}) const {
    test::CapturedStderr captured;
    test::train_until(config(directory, more), kGood);
    more.push_back("train.micro_batch_tokens=" + std::to_string(tokens));
    run_training(config(directory, more), {});
  }

  std::optional<int64_t> pieces(const std::string& directory) const {
    return newest_valid_checkpoint(small_.path(directory))->state.micro_batch_tokens;
  }

  void expect_same(const std::string& straight, const std::string& run) const {
    for (const auto* file : {"model.safetensors", "training/optimizer.safetensors"}) {
      const auto expected = small_.file(straight + "/checkpoint-8/" + file);
      ASSERT_FALSE(expected.empty());
      EXPECT_TRUE(expected == small_.file(run + "/checkpoint-8/" + file)) << run << " " << file;
    }
    EXPECT_EQ(small_.metrics(straight), small_.metrics(run)) << run;
  }

  static bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  test::SmallRun small_;
};

TEST_F(OutOfMemoryTest, EveryAllocationOfAStepMayFail) {
  FailingAllocator memory;
  const auto whole =
      (run_with_failure(config("whole"), -1, memory), small_.values("whole", "train/loss"));
  const int64_t stride = std::getenv("WEFT_TORTURE") != nullptr ? 1 : 23;
  int failures = 0;
  for (int64_t n = 0; n < 4000 && !HasFailure(); n += stride) {
    const auto name = "run-" + std::to_string(n);
    memory.failures = 0;
    const auto words = run_with_failure(config(name), n, memory);
    if (memory.failures == 0) {
      break;  // the step makes no more
    }
    ++failures;
    EXPECT_TRUE(holds(words, "[train] out of memory in step 4: a micro-batch of ")) << words;
    EXPECT_TRUE(holds(words, "the step is repeated with micro-batches of at most ")) << words;
    ASSERT_TRUE(pieces(name));
    if (failures == 1) {
      run_with_micro_batches("cut", *pieces(name));
    }
    expect_same("cut", name);
    for (const auto& [step, loss] : small_.values(name, "train/loss")) {
      EXPECT_NEAR(loss, whole.at(step), (step == kGood + 1 ? 2e-6 : 2e-4) * loss) << step;
    }
  }
  EXPECT_GE(failures, 5);
}

TEST_F(OutOfMemoryTest, SameHoldsInBf16AndWithinAMicroBatch) {
  const std::vector<std::string> bf16 = {"train.precision=bf16", "train.batch_tokens=128",
                                         "train.micro_batch_tokens=64"};
  FailingAllocator memory;
  run_with_failure(config("run", bf16), 150, memory);
  ASSERT_EQ(memory.failures, 1);
  ASSERT_TRUE(pieces("run"));
  EXPECT_LT(*pieces("run"), 64);
  run_with_micro_batches("cut", *pieces("run"), bf16);
  expect_same("cut", "run");
}

TEST_F(OutOfMemoryTest, SmallerMicroBatchesAreKeptOnResume) {
  FailingAllocator memory;
  run_with_failure(config("straight"), 10, memory);
  test::CapturedStderr captured;
  EXPECT_THROW(run_training(config("parts"), {.on_step =
                                                  [&](const TrainState& state) {
                                                    memory.countdown =
                                                        state.progress.steps == kGood ? 10 : -1;
                                                    request_stop(state.progress.steps == 5);
                                                  }}),
               Stopped);
  request_stop(false);
  run_training(config("parts"), {});
  EXPECT_EQ(pieces("parts"), pieces("straight"));
  expect_same("straight", "parts");
}

TEST_F(OutOfMemoryTest, IsHalvedUntilItFits) {
  // Queries, keys and values of a token are 48 numbers together: 85 tokens fit, 400 are there.
  constexpr std::size_t kMost = 16384;
  FailingAllocator memory;
  test::CapturedStderr captured;
  run_training(config("run", {"train.batch_tokens=400"}), {.on_step = [&](const TrainState& state) {
                 const auto steps = state.progress.steps;
                 memory.most = steps >= kGood && steps < 8 ? kMost : ~std::size_t{0};
               }});
  const auto words = captured.take();
  EXPECT_GE(memory.failures, 2) << words;
  EXPECT_LE(pieces("run").value_or(1000), 100) << words;
}

TEST_F(OutOfMemoryTest, OneSequenceThatDoesNotFitEndsTheRunWithSizes) {
  FailingAllocator memory;
  const auto run = config(
      "run", {"train.batch_tokens=null", "train.batch_sequences=1", "train.save_every=2 steps"});
  const auto message =
      test::message_of<std::runtime_error>([&] { run_with_failure(run, 10, memory); });
  EXPECT_TRUE(holds(message, "train: out of memory in step 4: a micro-batch of 1 sequence with "))
      << message;
  EXPECT_TRUE(holds(message, " were requested, ")) << message;
  EXPECT_TRUE(holds(message,
                    " are free; a single sequence cannot be split. To reduce memory, change "
                    "data.length, train.gradient_checkpointing: layers, "))
      << message;
  EXPECT_EQ(newest_valid_checkpoint(small_.path("run"))->state.progress.steps, 2);
}

TEST(MemoryShortageIn, KnowsWhatAllocatorsSay) {
  EXPECT_TRUE(memory_shortage_in(std::bad_alloc()));
  EXPECT_FALSE(memory_shortage_in(std::runtime_error("sizes do not match")));
  EXPECT_TRUE(memory_shortage_in(std::runtime_error("oneDNN: out of memory")));
  const auto shortage = memory_shortage_in(std::runtime_error(
      "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: "
      "you tried to allocate 4194304 bytes. Error code 12 (Cannot allocate memory)"));
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->requested_bytes, 4194304);
  EXPECT_TRUE(describe(*shortage).starts_with("4.0 MiB were requested, ")) << describe(*shortage);
}

}  // namespace
}  // namespace weft::train
