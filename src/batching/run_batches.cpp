#include "batching/run_batches.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "kernels/parallel.h"

namespace weft::batching {

namespace {

constexpr int64_t kSharedTokens = 4096;   // of a batch that a GPU or all threads compute
constexpr int64_t kThreadTokens = 512;    // of a batch of one thread, so that it stays in L2
constexpr int64_t kFewestTokens = 128;    // of one thread: smaller batches are slower
constexpr int64_t kBatchesPerThread = 4;  // so that all threads end at about the same time

using Items = std::span<const std::size_t>;

class Batches {
 public:
  explicit Batches(std::span<const data::Example> examples) : examples_(examples) {
    for (std::size_t i = 0; i < examples.size(); ++i) {
      if (examples[i].tokens() > 0) {
        order_.push_back(i);
        tokens_ += examples[i].total_tokens();
      }
    }
    std::stable_sort(order_.begin(), order_.end(), [&](auto a, auto b) {
      return examples[a].total_tokens() > examples[b].total_tokens();
    });
  }

  int64_t tokens() const { return tokens_; }

  /// Consecutive items, in batches of at most `most` tokens or of one item.
  std::vector<Items> divided(int64_t most) const {
    const Items order = order_;
    std::vector<Items> batches;
    std::size_t begin = 0;
    int64_t size = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int64_t more = examples_[order[i]].total_tokens();
      if (i > begin && size + more > most) {
        batches.push_back(order.subspan(begin, i - begin));
        begin = i;
        size = 0;
      }
      size += more;
    }
    if (begin < order.size()) {
      batches.push_back(order.subspan(begin));
    }
    return batches;
  }

  int64_t tokens_of(Items items) const {
    int64_t tokens = 0;
    for (const auto item : items) {
      tokens += examples_[item].total_tokens();
    }
    return tokens;
  }

  data::Batch batch_of(Items items) const {
    data::Batch batch;
    for (const auto item : items) {
      batch.add(static_cast<int64_t>(item), examples_[item]);
    }
    return batch;
  }

 private:
  std::span<const data::Example> examples_;
  std::vector<std::size_t> order_;  // the longest first
  int64_t tokens_ = 0;
};

}  // namespace

void run_concurrently(std::span<const int64_t> tokens,
                      const at::Device& device,
                      const std::function<void(std::size_t)>& run) {
  const at::NoGradGuard guard;
  const int64_t threads = device.is_cpu() ? kernels::parallel_threads() : 1;
  std::vector<std::size_t> short_batches;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (threads == 1 || std::ssize(tokens) < threads || tokens[i] > kSharedTokens) {
      run(i);
    } else {
      short_batches.push_back(i);
    }
  }
  std::atomic<std::size_t> next{0};
  const auto run_some = [&](int64_t /*begin*/, int64_t /*end*/) {
    const at::NoGradGuard guard_of_thread;
    for (auto i = next++; i < short_batches.size(); i = next++) {
      try {
        run(short_batches[i]);
      } catch (...) {
        next = short_batches.size();
        throw;
      }
    }
  };
  kernels::parallel_for(0, std::min(threads, std::ssize(short_batches)), 1, run_some);
}

void run_batches(std::span<const data::Example> examples,
                 const at::Device& device,
                 std::optional<int64_t> batch_tokens,
                 const std::function<void(const data::Batch&)>& run) {
  const Batches batches(examples);
  const int64_t threads = device.is_cpu() ? kernels::parallel_threads() : 1;
  int64_t most = batch_tokens.value_or(device.is_cpu() ? kThreadTokens : kSharedTokens);
  if (threads > 1) {
    most =
        std::min(most, std::max(kFewestTokens, batches.tokens() / (threads * kBatchesPerThread)));
  }
  auto divided = batches.divided(most);
  if (std::ssize(divided) < threads) {
    divided = batches.divided(batch_tokens.value_or(kSharedTokens));
  }
  std::vector<int64_t> tokens;
  tokens.reserve(divided.size());
  for (const auto& items : divided) {
    tokens.push_back(batches.tokens_of(items));
  }
  run_concurrently(tokens, device, [&](std::size_t i) { run(batches.batch_of(divided[i])); });
}

}  // namespace weft::batching
