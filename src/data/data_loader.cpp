#include "data/data_loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/random.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "data/error.h"

namespace weft::data {
namespace {

constexpr int64_t kLengthsPerBlock = 1 << 16;

/// Item order of one epoch.
class EpochOrder {
 public:
  EpochOrder(const DataLoaderOptions& options, const Dataset& dataset, int64_t epoch)
      : epoch_(epoch),
        size_(dataset.size(epoch)),
        shuffles_(options.shuffles),
        permutation_(std::max<int64_t>(1, size_),
                     options.seed,
                     RandomPurpose::kShuffle,
                     static_cast<uint64_t>(epoch)) {
    if (size_ <= 0) {
      throw Error(str_cat("data: epoch ", epoch + 1, " has no examples to train on"));
    }
  }

  int64_t epoch() const { return epoch_; }
  int64_t size() const { return size_; }
  int64_t operator()(int64_t position) const {
    return shuffles_ ? permutation_(position) : position;
  }

 private:
  int64_t epoch_;
  int64_t size_;
  bool shuffles_;
  Permutation permutation_;
};

/// Collects items while they fit a budget.
class TokenBudget {
 public:
  explicit TokenBudget(const DataLoaderOptions& options) : options_(options) {}

  /// Whether an item of this length still fits into the step; if not, it starts the next one.
  bool take(int64_t length) {
    const bool fits = options_.batch_sequences > 0 ? items_ < options_.batch_sequences
                                                   : tokens_ + length <= options_.batch_tokens;
    if (items_ > 0 && !fits) {
      return false;
    }
    ++items_;
    tokens_ += length;
    return true;
  }
  void clear() { items_ = tokens_ = 0; }

 private:
  const DataLoaderOptions& options_;
  int64_t items_ = 0;
  int64_t tokens_ = 0;
};

/// Returns the end of the skipped range at this position; nullopt if there is none.
std::optional<DataPosition> end_of_skipped_range(const DataLoaderOptions& options,
                                                 const DataPosition& data_position) {
  for (const auto& range : options.skipped_ranges) {
    if (range.begin <= data_position && data_position < range.end) {
      return range.end;
    }
  }
  return std::nullopt;
}

/// Items of one step, before their examples are built.
struct BatchPlan {
  std::vector<int64_t> items;
  std::vector<int64_t> lengths;
  DataPosition begin;
  DataPosition end;
};

/// Cuts the sequences, which stay in order, into one share per rank: each goes to the rank on whose
/// part of the step's tokens its middle falls.
StepBatches make_step(const Dataset& dataset,
                      const DataLoaderOptions& options,
                      const BatchPlan& plan) {
  StepBatches step{.micro_batches = {}, .ranks = {}, .begin = plan.begin, .end = plan.end};
  const auto total = std::accumulate(plan.lengths.begin(), plan.lengths.end(), int64_t{0});
  int64_t before = 0;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const auto length = plan.lengths[i];
    const auto rank = std::min(
        options.ranks - 1, (2 * before + length) * options.ranks / std::max<int64_t>(2 * total, 1));
    const bool is_full =
        step.micro_batches.empty() || step.ranks.back() != rank ||
        (options.micro_batch_tokens > 0 &&
         step.micro_batches.back().total_tokens() + length > options.micro_batch_tokens);
    if (is_full) {
      step.micro_batches.emplace_back();
      step.ranks.push_back(rank);
    }
    step.micro_batches.back().add(plan.items[i], dataset.example(plan.begin.epoch, plan.items[i]));
    before += length;
  }
  return step;
}

void check(const DataLoaderOptions& options) {
  if ((options.batch_tokens > 0) == (options.batch_sequences > 0)) {
    throw std::invalid_argument(
        "DataLoaderOptions: one of batch_tokens and batch_sequences must be set");
  }
  if (options.workers < 0 || options.prefetch < 1 || options.micro_batch_tokens < 0 ||
      options.ranks < 1) {
    throw std::invalid_argument(
        "DataLoaderOptions: workers, prefetch, micro_batch_tokens or ranks out of range");
  }
}

}  // namespace

/// Workers plan steps one after another (lengths only, under the lock) and build them in parallel;
/// `next` returns them in planning order, so the stream does not depend on the number of workers.
struct DataLoader::State {
  State(std::shared_ptr<const Dataset> data, const DataLoaderOptions& given, DataPosition begin)
      : dataset(std::move(data)), options(given), data_position(begin) {}

  std::shared_ptr<const Dataset> dataset;
  DataLoaderOptions options;

  std::mutex mutex;                   // guards everything below
  std::condition_variable not_full;   // for workers: a step was taken, or stop
  std::condition_variable not_empty;  // for `next`: a step is ready
  DataPosition data_position;         // start of the next plan
  std::optional<EpochOrder> order;    // of the current epoch
  std::map<int64_t, StepBatches> ready_steps;
  std::map<int64_t, std::exception_ptr> failed;
  int64_t planned = 0;
  int64_t taken = 0;
  std::optional<int64_t> last;  // one past the last step
  bool stops = false;

  std::mutex count_mutex;  // guards steps
  std::map<int64_t, int64_t> steps;
  double waited_ms = 0;
  std::vector<std::jthread> workers;

  std::optional<BatchPlan> plan_batch();
  std::optional<StepBatches> make_synchronously();
  std::optional<StepBatches> take();
  void work();
};

/// Returns the items of the next step, or nullopt at the end of the stream. Called under the lock.
std::optional<BatchPlan> DataLoader::State::plan_batch() {
  for (;;) {
    if (const auto end = end_of_skipped_range(options, data_position)) {
      data_position = *end;
      continue;
    }
    if (options.epochs && data_position.epoch >= *options.epochs) {
      return std::nullopt;
    }
    if (!order || order->epoch() != data_position.epoch) {
      order.emplace(options, *dataset, data_position.epoch);
    }
    if (data_position.position < order->size()) {
      break;
    }
    data_position = {data_position.epoch + 1, 0};
  }
  BatchPlan plan{.items = {}, .lengths = {}, .begin = data_position, .end = {}};
  TokenBudget budget(options);
  for (; data_position.position < order->size(); ++data_position.position) {
    const int64_t item = (*order)(data_position.position);
    const int64_t length = dataset->length(data_position.epoch, item);
    if (end_of_skipped_range(options, data_position) || !budget.take(length)) {
      break;
    }
    plan.items.push_back(item);
    plan.lengths.push_back(length);
  }
  if (data_position.position == order->size()) {
    data_position = {data_position.epoch + 1, 0};
  }
  plan.end = data_position;
  return plan;
}

void DataLoader::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    not_full.wait(lock, [&] { return stops || last || planned < taken + options.prefetch; });
    if (stops || last) {
      return;
    }
    const int64_t number = planned++;
    try {
      const std::optional<BatchPlan> next_plan = plan_batch();
      if (!next_plan) {
        last = number;
        break;
      }
      lock.unlock();
      StepBatches step = make_step(*dataset, options, *next_plan);
      lock.lock();
      ready_steps.emplace(number, std::move(step));
    } catch (...) {
      if (!lock.owns_lock()) {
        lock.lock();
      }
      failed.emplace(number, std::current_exception());
      last = std::min(last.value_or(number + 1), number + 1);
      break;
    }
    not_empty.notify_all();
  }
  not_empty.notify_all();
  not_full.notify_all();
}

std::optional<StepBatches> DataLoader::State::make_synchronously() {
  if (!failed.empty()) {
    std::rethrow_exception(failed.begin()->second);
  }
  try {
    const std::optional<BatchPlan> next_plan = plan_batch();
    return next_plan ? std::optional(make_step(*dataset, options, *next_plan)) : std::nullopt;
  } catch (...) {
    failed.emplace(0, std::current_exception());
    throw;
  }
}

std::optional<StepBatches> DataLoader::State::take() {
  std::unique_lock lock(mutex);
  not_empty.wait(lock, [&] {
    return ready_steps.contains(taken) || failed.contains(taken) || (last && taken >= *last);
  });
  if (const auto failure = failed.find(taken); failure != failed.end()) {
    std::rethrow_exception(failure->second);  // also at every later call
  }
  if (last && taken >= *last) {
    return std::nullopt;
  }
  auto node = ready_steps.extract(taken);
  ++taken;
  not_full.notify_all();
  return std::move(node.mapped());
}

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset,
                       const DataLoaderOptions& options,
                       DataPosition begin)
    : state_(std::make_unique<State>(std::move(dataset), options, begin)) {
  check(options);
  for (int64_t i = 0; i < options.workers; ++i) {
    state_->workers.emplace_back([state = state_.get()] { state->work(); });
  }
}

DataLoader::~DataLoader() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stops = true;
  }
  state_->not_full.notify_all();
  state_->workers.clear();  // joins
}

std::optional<StepBatches> DataLoader::next() {
  const auto begin = std::chrono::steady_clock::now();
  auto step = state_->options.workers == 0 ? state_->make_synchronously() : state_->take();
  const std::chrono::duration<double, std::milli> waited = std::chrono::steady_clock::now() - begin;
  state_->waited_ms += waited.count();
  return step;
}

int64_t DataLoader::steps_per_epoch(int64_t epoch) {
  State& state = *state_;
  const std::lock_guard lock(state.count_mutex);
  if (const auto known = state.steps.find(epoch); known != state.steps.end()) {
    return known->second;
  }
  const EpochOrder order(state.options, *state.dataset, epoch);
  if (state.options.batch_sequences > 0) {
    const int64_t sequences = state.options.batch_sequences;
    return state.steps[epoch] = (order.size() + sequences - 1) / sequences;
  }
  int64_t steps = 1;
  TokenBudget budget(state.options);
  std::vector<int64_t> lengths;
  for (int64_t first = 0; first < order.size(); first += kLengthsPerBlock) {
    lengths.resize(static_cast<std::size_t>(std::min(kLengthsPerBlock, order.size() - first)));
    const auto measure = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        lengths[static_cast<std::size_t>(i)] = state.dataset->length(epoch, order(first + i));
      }
    };
    parallel_for(static_cast<int64_t>(lengths.size()), 4096, measure);
    for (const int64_t length : lengths) {
      if (!budget.take(length)) {
        ++steps;
        budget.clear();
        budget.take(length);
      }
    }
  }
  return state.steps[epoch] = steps;
}

double DataLoader::waited_ms() const { return state_->waited_ms; }

int64_t item_at(const DataLoaderOptions& options,
                const Dataset& dataset,
                const DataPosition& data_position) {
  return EpochOrder(options, dataset, data_position.epoch)(data_position.position);
}

}  // namespace weft::data
