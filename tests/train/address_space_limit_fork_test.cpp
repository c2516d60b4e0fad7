// Behaviour of a run with limited address space. Each training is a separate process; this program
// itself never trains.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "train/forked_runs.h"

namespace weft::train {
namespace {

using test::kDone;
using test::kInternal;

constexpr int64_t kMebibyte = int64_t{1} << 20;

/// So much more address space than the process has, for good.
void limit_addresses(int64_t more) {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto most = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + more);
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  ::setrlimit(RLIMIT_AS, &limit);
}

/// Steps of 4096 tokens through layers so wide that they take about a gibibyte, but for the last
/// one, which only computes the masked words.
class AddressSpaceLimitTest : public test::ForkedRuns {
 protected:
  AddressSpaceLimitTest() {
    std::string text;
    for (int line = 0; line < 1500; ++line) {
      text += "the red fox number " + std::to_string(1000 + line) + " sees a green hill.\n\n";
    }
    small_.folder().write("train.txt", text);
  }

  RunConfig wide(const std::string& directory, std::vector<std::string> more = {}) const {
    more.insert(more.end(),
                {"train.batch_tokens=4096", "model.layers=3", "model.feed_forward.width=8192",
                 "data.pack=none", "train.save_async=false"});
    return config(directory, more);
  }

  static test::ChildTraining limited(int64_t mebibytes) {
    return {.prepare = [mebibytes] { limit_addresses(mebibytes * kMebibyte); }};
  }
};

TEST_F(AddressSpaceLimitTest, LimitOfTheAddressSpaceHalvesTheMicroBatch) {
  ASSERT_EQ(train(wide("run"), limited(660)), kDone) << stderr_text();
  const auto words = stderr_text();
  EXPECT_NE(words.find("[train] out of memory in step 1: a micro-batch of "), std::string::npos)
      << words;
  const auto found = newest_valid_checkpoint(small_.path("run"));
  ASSERT_TRUE(found && found->state.micro_batch_tokens) << words;
  ASSERT_EQ(train(wide("straight", {"train.micro_batch_tokens=" +
                                    std::to_string(*found->state.micro_batch_tokens)})),
            kDone)
      << stderr_text();
  expect_same("straight", "run", "halved");
}

TEST_F(AddressSpaceLimitTest, UnfittableSequenceIsReportedWithSizes) {
  EXPECT_EQ(train(config("run", {"model.feed_forward.width=1000000", "train.save_async=false"}),
                  limited(400)),
            kInternal)
      << stderr_text();
  EXPECT_NE(stderr_text().find("error: train: out of memory "), std::string::npos) << stderr_text();
  EXPECT_NE(stderr_text().find(" were requested, "), std::string::npos) << stderr_text();
  EXPECT_NE(stderr_text().find("MiB are free"), std::string::npos) << stderr_text();
}

}  // namespace
}  // namespace weft::train
