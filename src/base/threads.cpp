#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <sched.h>

namespace weft {

namespace {

int cores_of_affinity() {
  // Machines with more than 1,024 CPUs need a larger set; the call fails with EINVAL if it is too
  // small.
  for (int cpus = CPU_SETSIZE; cpus <= (1 << 20); cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) {
      break;
    }
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) {
      return count;
    }
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Hands out chunks of 0 .. count-1 to all threads, until one chunk fails.
class ChunkQueue {
 public:
  ChunkQueue(int64_t count, int64_t length, const std::function<void(int64_t, int64_t)>& work)
      : count_(count), length_(length), work_(work) {}

  void run_all() {
    while (!failed_.load(std::memory_order_relaxed)) {
      const int64_t begin = next_.fetch_add(length_, std::memory_order_relaxed);
      if (begin >= count_) {
        return;
      }
      try {
        work_(begin, std::min(count_, begin + length_));
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failed_.exchange(true)) {
          failure_ = std::current_exception();
        }
      }
    }
  }

  void rethrow() const {
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  int64_t count_;
  int64_t length_;
  const std::function<void(int64_t, int64_t)>& work_;
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

int available_cores() {
  const int cores = cores_of_affinity();
  const char* bound = std::getenv("OMP_NUM_THREADS");
  const long asked = bound == nullptr ? 0 : std::strtol(bound, nullptr, 10);
  return asked > 0 ? static_cast<int>(std::min<long>(cores, asked)) : cores;
}

void parallel_for(int64_t count,
                  int64_t grain,
                  const std::function<void(int64_t, int64_t)>& work,
                  int threads) {
  if (count <= 0) {
    return;
  }
  grain = std::max<int64_t>(1, grain);
  const int64_t most = threads > 0 ? threads : available_cores();
  const int64_t useful = std::min(most, (count + grain - 1) / grain);
  // Several chunks per thread balance the load if their costs differ.
  ChunkQueue queue(count, std::max(grain, count / (useful * 8)), work);
  std::vector<std::thread> helpers;
  helpers.reserve(static_cast<std::size_t>(useful));
  try {
    for (int64_t i = 1; i < useful; ++i) {
      helpers.emplace_back([&queue] { queue.run_all(); });
    }
  } catch (const std::system_error&) {
    // No more threads available: the existing ones do the work.
  }
  queue.run_all();
  for (auto& helper : helpers) {
    helper.join();
  }
  queue.rethrow();
}

}  // namespace weft
