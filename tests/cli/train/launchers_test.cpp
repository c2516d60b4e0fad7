#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/train/launched_runs.h"
#include "support/program.h"

namespace weft::cli {
namespace {

/// Another program that starts the ranks of a run.
struct Launcher {
  std::string name;
  std::string is_there;                // shell command
  std::vector<std::string> two_ranks;  // begins the command line
};

const std::vector<Launcher> kLaunchers = {
    {"mpirun",
     "command -v mpirun",
     {"mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"}},
    {"srun", "command -v srun && sinfo -h -t idle,mix | grep -q .", {"srun", "-n", "2"}},
    {"torchrun",
     "command -v torchrun",
     {"torchrun", "--no-python", "--standalone", "--nproc-per-node", "2"}}};

class OtherLauncher : public ::testing::TestWithParam<Launcher> {};

TEST_P(OtherLauncher, StartsTheSameRunAsWeftLaunch) {
  if (std::system(("(" + GetParam().is_there + ") > /dev/null 2>&1").c_str()) != 0) {
    GTEST_SKIP() << GetParam().name << " is not installed or not running";
  }
  const test::TemporaryDirectory work;
  const auto config = write_config(work, "fp32");
  const auto wanted = trained(work, config, 2);
  const auto run = work / "other";
  const test::TemporaryDirectory streams;
  auto command = GetParam().two_ranks;
  command.insert(command.end(), {WEFT_BINARY, "train", config, "--output", run});
  const auto done = test::finish(test::start(command, streams.path()), streams.path());
  EXPECT_EQ(done.status, 0) << done.err;
  expect_same_run(run, wanted);
}

INSTANTIATE_TEST_SUITE_P(Of, OtherLauncher, ::testing::ValuesIn(kLaunchers), [](const auto& test) {
  return test.param.name;
});

}  // namespace
}  // namespace weft::cli
