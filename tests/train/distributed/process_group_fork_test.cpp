#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/stop.h"
#include "base/string_util.h"
#include "train/distributed/backends.h"
#include "train/distributed/forked_ranks.h"
#include "train/distributed/process_group.h"
#include "train/distributed/rendezvous.h"

namespace weft::train {
namespace {

using Texts = std::vector<std::string>;

Texts repeated(int count, const std::string& text) {
  return Texts(static_cast<std::size_t>(count), text);
}

/// The numbers of one rank; not exact in any order of additions.
at::Tensor numbers(int rank, int64_t count, at::ScalarType type = at::kFloat) {
  return at::randn({count}, at::make_generator<at::CPUGeneratorImpl>(uint64_t(rank)), at::kFloat)
      .to(type);
}

/// The sum over all ranks in their order, rounded once.
at::Tensor sum_of_numbers(int size, int64_t count, at::ScalarType type) {
  const auto wide = type == at::kBFloat16 ? at::kFloat : type;
  auto total = numbers(0, count, type).to(wide);
  for (int rank = 1; rank < size; ++rank) {
    total += numbers(rank, count, type).to(wide);
  }
  return total.to(type);
}

/// Sums the slice over the ranks: each adds up a part.
void all_reduce(ProcessGroup& group, const at::Tensor& slice) {
  const int64_t part = (slice.numel() + group.size() - 1) / group.size();
  auto reduction = group.start_reduce_scatter(slice, part);
  const auto sum = group.finish_reduce_scatter(reduction);
  slice.narrow(0, std::min(group.rank() * part, slice.numel() - sum.numel()), sum.numel())
      .copy_(sum);
  auto gather = group.start_all_gather(slice, part);
  group.finish_all_gather(gather);
}

/// Calls until an error; its text, and how late it came if it was later than `limit`.
template <class Call>
std::string error_within(std::chrono::milliseconds limit, const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  try {
    while (true) {
      call();
    }
  } catch (const DistributedError& error) {
    const auto took = std::chrono::steady_clock::now() - start;
    return took < limit
               ? error.what()
               : str_cat("after ", took / std::chrono::milliseconds(1), " ms: ", error.what());
  }
}

/// The text with the name of this machine as `HOST`.
std::string with_host(std::string text) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return test::filled(std::move(text), str_cat("(host ", name.data(), ")"), "(HOST)");
}

/// The same without the cause: some ranks notice a failure themselves, others are told.
std::string without_cause(const std::string& text) {
  return with_host(text.substr(0, text.rfind(": ")));
}

/// What ranks say of the one that was killed in the end.
Texts reported(int ranks, int victim, const std::string& what) {
  auto texts = repeated(ranks, str_cat("rank ", victim, " (HOST) ", what));
  texts[static_cast<std::size_t>(victim)] = "signal 9";
  return texts;
}

class ProcessGroupSizes : public testing::TestWithParam<int> {};

TEST_P(ProcessGroupSizes, AllReduceSumsSlicesOfEachType) {
  const auto results = test::run_in_group(GetParam(), [](ProcessGroup& group) -> std::string {
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong}) {
      for (const int64_t length : {0, 1, 7, 12, 995}) {
        auto flat = at::full({1000}, group.rank() + 1, at::TensorOptions(type));
        all_reduce(group, flat.narrow(0, 3, length));
        auto expected = at::full_like(flat, group.rank() + 1);
        expected.narrow(0, 3, length).fill_(group.size() * (group.size() + 1) / 2);
        if (!flat.equal(expected)) {
          return str_cat("wrong sum of ", length, " ", type);
        }
      }
    }
    return "right";
  });
  EXPECT_EQ(results, repeated(GetParam(), "right"));
}

TEST_P(ProcessGroupSizes, SumGatherAndBroadcastAgree) {
  const auto results = test::run_in_group(GetParam(), [](ProcessGroup& group) -> std::string {
    const auto sums = group.sum({0.1 * (group.rank() + 1), 1.0});
    double expected = 0.1;
    for (int rank = 1; rank < group.size(); ++rank) {
      expected += 0.1 * (rank + 1);
    }
    const bool sums_are_right = sums == std::vector<double>{expected, double(group.size())};
    const auto texts = group.gather(std::string(static_cast<std::size_t>(group.rank() * 3), 'x'));
    auto flat = at::full({5}, group.rank());
    group.broadcast(flat.narrow(0, 1, 3));
    const auto mine = at::full({5}, group.rank());
    mine.narrow(0, 1, 3).fill_(0);
    return str_cat(sums_are_right, flat.equal(mine), group.sum({}).size(), " ", join(texts));
  });
  Texts texts;
  for (int rank = 0; rank < GetParam(); ++rank) {
    texts.push_back(std::string(static_cast<std::size_t>(rank * 3), 'x'));
  }
  EXPECT_EQ(results, repeated(GetParam(), "110 " + join(texts)));
}

INSTANTIATE_TEST_SUITE_P(Of, ProcessGroupSizes, testing::Values(1, 2, 3, 4));

// 3 ranks and more: a ring would add in an order that depends on the place in the slice.
TEST(ProcessGroup, AllReduceHasTheSameBitsForEverySlicing) {
  const auto results = test::run_in_group(3, [](ProcessGroup& group) -> std::string {
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
      for (const int64_t cut : {1500, 1000, 499, 40}) {
        auto flat = numbers(group.rank(), 1500, type);
        for (int64_t begin = 0; begin < 1500; begin += cut) {
          all_reduce(group, flat.narrow(0, begin, std::min(cut, 1500 - begin)));
        }
        if (!flat.equal(sum_of_numbers(group.size(), 1500, type))) {
          return str_cat("other bits of ", type, " in slices of ", cut);
        }
      }
    }
    return "equal";
  });
  EXPECT_EQ(results, repeated(3, "equal"));
}

TEST(ProcessGroup, SeveralTransfersMayRunAtATime) {
  const auto results = test::run_in_group(3, [](ProcessGroup& group) -> std::string {
    std::vector<at::Tensor> slices;
    std::vector<ProcessGroup::Transfer> reductions;
    for (int64_t length = 1; length < 40; ++length) {
      slices.push_back(numbers(group.rank(), length));
      reductions.push_back(group.start_reduce_scatter(slices.back(), 16));
    }
    for (std::size_t i = reductions.size(); i-- > 0;) {
      const auto sum = group.finish_reduce_scatter(reductions[i]);
      const int64_t begin = std::min<int64_t>(group.rank() * 16, slices[i].numel());
      const auto expected = sum_of_numbers(3, slices[i].numel(), at::kFloat)
                                .narrow(0, begin, std::min<int64_t>(16, slices[i].numel() - begin));
      if (!sum.equal(expected)) {
        return str_cat("wrong sum of ", slices[i].numel());
      }
    }
    return "right";
  });
  EXPECT_EQ(results, repeated(3, "right"));
}

TEST(ProcessGroup, MessagesArriveInOrder) {
  const auto results = test::run_in_group(3, [](ProcessGroup& group) -> std::string {
    for (int i = 0; i < 20; ++i) {
      const auto message = at::full({i + 1}, 100 * group.rank() + i);
      if (!group.is_main()) {
        group.send(message, 0);
        continue;
      }
      for (int from = 1; from < group.size(); ++from) {
        group.receive(message, from);
        if (!message.equal(at::full({i + 1}, 100 * from + i))) {
          return str_cat("wrong message ", i, " of rank ", from);
        }
      }
    }
    return "right";
  });
  EXPECT_EQ(results, repeated(3, "right"));
}

TEST(ProcessGroup, TransfersLargeSlices) {
  constexpr int64_t kCount = 10'000'001;
  const auto results = test::run_in_group(2, [](ProcessGroup& group) -> std::string {
    auto flat = numbers(group.rank(), kCount);
    all_reduce(group, flat);
    auto copy = at::full({kCount}, group.rank(), at::kFloat);
    group.broadcast(copy);
    return str_cat(flat.equal(sum_of_numbers(2, kCount, at::kFloat)),
                   copy.equal(at::zeros({kCount})));
  });
  EXPECT_EQ(results, repeated(2, "11"));
}

TEST(ProcessGroup, RefusesSlicesThatAreNotContiguous) {
  const auto results = test::run_in_group(2, [](ProcessGroup& group) -> std::string {
    int refused = 0;
    for (const auto& slice : {at::zeros({4, 4}), at::zeros({4, 4}).select(1, 0)}) {
      EXPECT_THROW(group.broadcast(slice), c10::Error);
      try {
        group.start_reduce_scatter(slice, 8);
      } catch (const c10::Error&) {
        ++refused;
      }
    }
    return str_cat(refused, " ", group.sum({1.0})[0]);  // still usable
  });
  EXPECT_EQ(results, repeated(2, "2 2"));
}

TEST(ProcessGroup, RequireSameNamesTheDifference) {
  const auto results = test::run_in_group(3, [](ProcessGroup& group) -> std::string {
    group.require_same("version", "1");
    group.require_same("config", group.rank() == 2 ? "b" : "a");
    return "accepted";
  });
  EXPECT_EQ(results, repeated(3,
                              "config: must be the same on all ranks, is 'a' on rank 0 and 'b' on "
                              "rank 2"));
}

class KilledRank : public testing::TestWithParam<int> {};

TEST_P(KilledRank, IsNamedByAllOthers) {
  const int victim = GetParam();
  const auto results = test::run_in_group(4, [&](ProcessGroup& group) -> std::string {
    group.set_step(12);
    auto flat = at::zeros({10'000'000});  // in pieces, so that calls of Gloo wait for each other
    all_reduce(group, flat);
    if (group.rank() == victim) {
      std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ::kill(::getpid(), SIGKILL);
      }).detach();
    }
    const auto error = error_within(std::chrono::seconds(3), [&] { all_reduce(group, flat); });
    EXPECT_THROW(group.sum({1.0}), DistributedError);
    // Ranks may notice in either half of the all-reduce.
    return test::filled(without_cause(error), "all-gather", "reduce-scatter");
  });
  EXPECT_EQ(results, reported(4, victim, "did not answer at step 12 in reduce-scatter"));
}

INSTANTIATE_TEST_SUITE_P(Of, KilledRank, testing::Values(0, 3));

TEST_P(KilledRank, IsNamedByTheRanksOfOtherMachines) {
  const int victim = GetParam();
  const auto results = test::run_on_machines(2, 2, [&](ProcessGroup& group) -> std::string {
    group.set_step(12);
    auto flat = at::zeros({1000});
    all_reduce(group.shard_group(), flat);
    all_reduce(group.replica_group(), flat);
    if (group.rank() == victim) {
      ::raise(SIGKILL);
    }
    // Only one rank has a call with the killed one.
    auto& part = group.rank() / 2 == victim / 2 ? group.shard_group() : group.replica_group();
    const auto error = error_within(std::chrono::seconds(5), [&] {
      for (;;) {
        all_reduce(part, flat);
      }
    });
    EXPECT_THROW(group.sum({1.0}), DistributedError);
    return test::filled(without_cause(error), "all-gather", "reduce-scatter");
  });
  EXPECT_EQ(results, reported(4, victim, "did not answer at step 12 in reduce-scatter"));
}

TEST(ProcessGroup, RefusesGroupsOfMachinesWithOtherNumbersOfRanks) {
  for (const int ranks_per_machine : {3, 2}) {
    const auto results = test::run_in_ranks(
        4,
        [&](LaunchEnvironment environment) -> std::string {
          if (ranks_per_machine == 2) {  // numbered in turn
            environment.local_rank = environment.rank / 2;
          }
          const auto group = ProcessGroup::join(environment);
          group->divide_by_machine();
          return "divided";
        },
        test::free_port(), true, ranks_per_machine);
    for (const auto& result : results) {
      EXPECT_NE(result.find("train.ranks.shard_group: machine needs as many ranks"),
                std::string::npos)
          << result;
    }
  }
}

class StoppedRank : public testing::TestWithParam<int> {};

TEST_P(StoppedRank, IsNamedAfterTheTimeout) {
  const int victim = GetParam();
  const auto work = [&](ProcessGroup& group) -> std::string {
    group.sum({1.0});  // all have connected
    if (group.rank() == victim) {
      ::raise(SIGSTOP);
    }
    return without_cause(error_within(std::chrono::seconds(8), [&] { group.sum({1.0}); }));
  };
  auto results = test::run_in_group(3, work, {.timeout = std::chrono::seconds(2)});
  EXPECT_EQ(results, reported(3, victim, "did not answer in sum"));
}

INSTANTIATE_TEST_SUITE_P(Of, StoppedRank, testing::Values(0, 2));

// Launchers kill 30 s after a signal, long before the timeout.
TEST(ProcessGroup, StuckRankDoesNotKeepTheOthersFromStopping) {
  const auto work = [](ProcessGroup& group) -> std::string {
    group.sum({1.0});
    if (group.rank() == 1) {
      ::raise(SIGSTOP);
    }
    request_stop(true);
    return with_host(error_within(std::chrono::seconds(4), [&] { group.sum({1.0}); }));
  };
  const auto results = test::run_in_group(
      2, work,
      {.timeout = std::chrono::seconds(30), .stop_timeout = std::chrono::milliseconds(600)});
  EXPECT_EQ(results[0], "rank 1 (HOST) did not answer in sum: timed out after 1 s while stopping");
}

TEST(ProcessGroup, RankThatLeavesIsNamed) {
  const auto results = test::run_in_group(3, [](ProcessGroup& group) -> std::string {
    if (group.rank() == 1) {
      throw std::runtime_error("own error");
    }
    if (group.rank() == 2) {  // busy while the other two end
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    return with_host(error_within(std::chrono::seconds(3), [&] { group.barrier("tokenising"); }));
  });
  const std::string expected = "rank 1 (HOST) left in tokenising: connection closed";
  EXPECT_EQ(results, Texts({expected, "own error", expected}));
}

TEST(ProcessGroup, BarrierOutlastsTheTimeoutOfCollectives) {
  using enum ProcessGroup::MayBeLate;
  for (const int late : {0, 1}) {
    const auto work = [late](ProcessGroup& group) -> std::string {
      if (group.rank() == late) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      }
      group.barrier("saving", late == 0 ? kMain : kAll);
      return str_cat(group.sum({1.0})[0]);
    };
    EXPECT_EQ(test::run_in_group(2, work, {.timeout = std::chrono::seconds(1)}), repeated(2, "2"));
  }
}

class RankMissingAtBarrier : public testing::TestWithParam<int> {};

TEST_P(RankMissingAtBarrier, IsNamedIfItWasKilled) {
  const int victim = GetParam();
  const auto results = test::run_in_group(4, [&](ProcessGroup& group) -> std::string {
    group.sum({1.0});
    if (group.rank() == victim) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the others wait already
      ::raise(SIGKILL);
    }
    return without_cause(error_within(std::chrono::seconds(3), [&] { group.barrier("saving"); }));
  });
  EXPECT_EQ(results, reported(4, victim, "did not answer in saving"));
}

TEST_P(RankMissingAtBarrier, IsNamedAfterTheTimeoutIfItWasStopped) {
  const int victim = GetParam();
  const auto work = [&](ProcessGroup& group) -> std::string {
    group.sum({1.0});
    if (group.rank() == victim) {
      ::raise(SIGSTOP);
    }
    return without_cause(error_within(std::chrono::seconds(8), [&] { group.barrier("saving"); }));
  };
  const auto results = test::run_in_group(4, work, {.timeout = std::chrono::seconds(2)});
  EXPECT_EQ(results, reported(4, victim, "did not answer in saving"));
}

INSTANTIATE_TEST_SUITE_P(Of, RankMissingAtBarrier, testing::Values(0, 2, 3));

TEST(ProcessGroup, JoiningEndsIfTheStoreStops) {
  const auto work = [](const LaunchEnvironment& environment) -> std::string {
    if (environment.rank == 0) {
      const auto meeting = meet(environment, std::chrono::seconds(1));
      ::raise(SIGSTOP);
    }
    ProcessGroup::join(environment, {.timeout = std::chrono::seconds(1)});
    return "joined";
  };
  const auto error = test::run_in_ranks(2, work)[1];  // stopped before or after the meeting
  EXPECT_TRUE(error.ends_with("timed out after 2 s") || error.ends_with("within 1 s")) << error;
}

TEST(ProcessGroup, JoinsAndLeavesManyTimes) {
  const auto results =
      test::run_in_ranks(2, [](const LaunchEnvironment& environment) -> std::string {
        double total = 0;
        for (int round = 0; round < 50; ++round) {
          total +=
              ProcessGroup::join(environment, {.timeout = std::chrono::seconds(20)})->sum({1.0})[0];
        }
        return str_cat(total);
      });
  EXPECT_EQ(results, repeated(2, "100"));
}

// In a thread of LibTorch, where nothing can catch it.
TEST(ProcessGroup, ExplainsUncaughtExceptions) {
  const test::TemporaryDirectory directory;
  const auto results = test::run_in_group(2, [&](ProcessGroup& group) -> std::string {
    group.set_step(3);
    if (group.rank() == 1) {
      if (std::freopen((directory / "error").c_str(), "w", stderr) != nullptr) {
        std::thread([] { throw std::runtime_error("[pair.cc:1] size mismatch\nstack"); }).join();
      }
    }
    return with_host(error_within(std::chrono::seconds(3), [&] { group.sum({1.0}); }));
  });
  EXPECT_EQ(results, Texts({"rank 1 (HOST) did not answer at step 3 in sum: connection closed",
                            "signal 6"}));
  const auto text = test::contents(directory / "error");
  EXPECT_TRUE(text.starts_with("error: rank 1 at step 3: uncaught exception: size mismatch."))
      << text;
}

TEST(ProcessGroup, RefusesGpusWithoutNccl) {
  if (has_nccl()) {
    GTEST_SKIP() << "this program has NCCL";
  }
  const auto results = test::run_in_group(2, [](ProcessGroup& group) {
    group.require_support(at::kCPU);
    group.require_support(at::kCUDA);
    return std::string("accepted");
  });
  for (const auto& result : results) {
    EXPECT_TRUE(result.starts_with("run.device: GPUs on several ranks need NCCL")) << result;
  }
  single_process().require_support(at::kCUDA);
}

// Sums, copies and messages between GPUs have the bits of those between CPUs.
TEST(ProcessGroup, ExchangesTensorsOfGpus) {
  constexpr int kRanks = 2;
  constexpr int64_t kCount = 1000;
  const auto results = test::run_in_group(kRanks, [](ProcessGroup& group) -> std::string {
    const int gpus = at::globalContext().hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0;
    if (gpus < group.size() || !has_nccl()) {
      return str_cat("needs NCCL and ", group.size(), " GPUs, found ", gpus);
    }
    const c10::Device device(at::kCUDA, static_cast<c10::DeviceIndex>(group.rank()));
    const c10::DeviceGuard guard(device);
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      auto slice = numbers(group.rank(), kCount, type).to(device);
      all_reduce(group, slice);
      if (!at::equal(slice.cpu(), sum_of_numbers(group.size(), kCount, type))) {
        return "another sum";
      }
    }
    auto slice = numbers(group.rank(), kCount).to(device);
    group.broadcast(slice);
    if (!at::equal(slice.cpu(), numbers(0, kCount))) {
      return "another broadcast";
    }
    slice = numbers(group.rank(), kCount).to(device);
    if (group.rank() == 1) {
      group.send(slice, 0);
    } else {
      group.receive(slice, 1);
    }
    return at::equal(slice.cpu(), numbers(1, kCount)) ? "same" : "another message";
  });
  if (results[0].starts_with("needs")) {
    GTEST_SKIP() << results[0];
  }
  EXPECT_EQ(results, repeated(kRanks, "same"));
}

}  // namespace
}  // namespace weft::train
