#include "kernels/parallel.h"

#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "kernels/compare.h"
#include "support/program.h"

namespace weft::kernels {
namespace {

TEST(Parallel, WorkIsSharedAmongThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<int> visits(4, 0);
  comparison::with_threads(4, [&] {
    parallel_for(0, 4, 1, [&](int64_t begin, int64_t end) {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      for (int64_t i = begin; i < end; ++i) {
        ++visits[i];
      }
    });
    return 0;
  });
  EXPECT_EQ(threads.size(), 4U);
  EXPECT_EQ(visits, std::vector<int>(4, 1));
}

TEST(Parallel, NothingToDoCallsNothing) {
  parallel_for(3, 3, 1, [](int64_t, int64_t) { FAIL(); });
}

TEST(Parallel, ErrorsComeThrough) {
  EXPECT_THROW(parallel_for(0, 4, 1, [](int64_t, int64_t) { throw std::runtime_error("no"); }),
               std::runtime_error);
}

/// New processes, in which a test calls sin for the first time, with all threads, and then again.
/// Without call_mkl_functions about every fourth fails on two cores.
TEST(Parallel, FirstCallsOfMklFunctionsAreExact) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  for (int process = 0; process < 15; ++process) {
    const auto result =
        test::run({program, "--gtest_filter=*/DistanceVectorAttention.EqualsPlain*/plainFp32"});
    ASSERT_NE(result.out.find("[  PASSED  ] 1 test."), std::string::npos)
        << "process " << process << "\n"
        << result.out;
  }
}

}  // namespace
}  // namespace weft::kernels
