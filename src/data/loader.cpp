#include "data/loader.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "base/random.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/error.h"

namespace weft::data {
namespace {

constexpr int64_t kLengthsAtOnce = 1 << 16;

/// The order of one epoch.
class Order {
 public:
  Order(const LoaderOptions& options, const Dataset& dataset, int64_t epoch)
      : epoch_(epoch),
        size_(dataset.size(epoch)),
        shuffles_(options.shuffles),
        permutation_(std::max<int64_t>(1, size_),
                     options.seed,
                     Purpose::kOrder,
                     static_cast<uint64_t>(epoch)) {
    if (size_ <= 0) {
      throw Error(text("data: epoch ", epoch + 1, " has no items, nothing to learn from"));
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

/// Takes items as long as they fit a budget.
class Budget {
 public:
  explicit Budget(const LoaderOptions& options) : options_(options) {}

  /// Whether an item of this length still belongs to the step; if not, it begins the next one.
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
  const LoaderOptions& options_;
  int64_t items_ = 0;
  int64_t tokens_ = 0;
};

/// The end of the stretch to be passed over at this place; nothing where there is none.
std::optional<Cursor> end_of_left_out(const LoaderOptions& options, const Cursor& cursor) {
  for (const auto& range : options.left_out) {
    if (range.begin <= cursor && cursor < range.end) {
      return range.end;
    }
  }
  return std::nullopt;
}

/// The items of one step, not yet made.
struct Plan {
  std::vector<int64_t> items;
  std::vector<int64_t> lengths;
  Cursor begin;
  Cursor end;
};

StepBatches make_step(const Dataset& dataset, const LoaderOptions& options, const Plan& plan) {
  StepBatches step{.micro = {}, .begin = plan.begin, .end = plan.end};
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const bool is_full = step.micro.empty() || (options.micro_batch_tokens > 0 &&
                                                step.micro.back().all_tokens() + plan.lengths[i] >
                                                    options.micro_batch_tokens);
    if (is_full) {
      step.micro.emplace_back();
    }
    step.micro.back().add(plan.items[i], dataset.example(plan.begin.epoch, plan.items[i]));
  }
  return step;
}

void check(const LoaderOptions& options) {
  if ((options.batch_tokens > 0) == (options.batch_sequences > 0)) {
    throw std::invalid_argument(
        "LoaderOptions: one of batch_tokens and batch_sequences must be set");
  }
  if (options.workers < 0 || options.prefetch < 1 || options.micro_batch_tokens < 0) {
    throw std::invalid_argument(
        "LoaderOptions: workers, prefetch or micro_batch_tokens out of range");
  }
}

}  // namespace

/// Workers plan steps one after another (lengths only, under the lock), make them side by side, and
/// `next` hands them out in the order of planning; so the stream is the same for every number of
/// workers.
struct Loader::State {
  State(std::shared_ptr<const Dataset> data, const LoaderOptions& given, Cursor begin)
      : dataset(std::move(data)), options(given), cursor(begin) {}

  std::shared_ptr<const Dataset> dataset;
  LoaderOptions options;

  std::mutex mutex;               // guards all below
  std::condition_variable room;   // for workers: a step was taken, or all shall stop
  std::condition_variable ready;  // for `next`: a step is made
  Cursor cursor;                  // where the next plan begins
  std::optional<Order> order;     // of the cursor's epoch
  std::map<int64_t, StepBatches> made;
  std::map<int64_t, std::exception_ptr> failed;
  int64_t planned = 0;
  int64_t taken = 0;
  std::optional<int64_t> last;  // number of the step after the last one
  bool stops = false;

  std::mutex count_mutex;  // guards steps
  std::map<int64_t, int64_t> steps;
  double waited_ms = 0;
  std::vector<std::jthread> workers;

  std::optional<Plan> plan();
  std::optional<StepBatches> make_now();
  std::optional<StepBatches> take();
  void work();
};

/// The next step's items, or nothing at the end of the stream. Called under the lock.
std::optional<Plan> Loader::State::plan() {
  for (;;) {
    if (const auto end = end_of_left_out(options, cursor)) {
      cursor = *end;
      continue;
    }
    if (options.epochs && cursor.epoch >= *options.epochs) {
      return std::nullopt;
    }
    if (!order || order->epoch() != cursor.epoch) {
      order.emplace(options, *dataset, cursor.epoch);
    }
    if (cursor.position < order->size()) {
      break;
    }
    cursor = {cursor.epoch + 1, 0};
  }
  Plan plan{.items = {}, .lengths = {}, .begin = cursor, .end = {}};
  Budget budget(options);
  for (; cursor.position < order->size(); ++cursor.position) {
    const int64_t item = (*order)(cursor.position);
    const int64_t length = dataset->length(cursor.epoch, item);
    if (end_of_left_out(options, cursor) || !budget.take(length)) {
      break;
    }
    plan.items.push_back(item);
    plan.lengths.push_back(length);
  }
  if (cursor.position == order->size()) {
    cursor = {cursor.epoch + 1, 0};
  }
  plan.end = cursor;
  return plan;
}

void Loader::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    room.wait(lock, [&] { return stops || last || planned < taken + options.prefetch; });
    if (stops || last) {
      return;
    }
    const int64_t number = planned++;
    try {
      const std::optional<Plan> next_plan = plan();
      if (!next_plan) {
        last = number;
        break;
      }
      lock.unlock();
      StepBatches step = make_step(*dataset, options, *next_plan);
      lock.lock();
      made.emplace(number, std::move(step));
    } catch (...) {
      if (!lock.owns_lock()) {
        lock.lock();
      }
      failed.emplace(number, std::current_exception());
      last = std::min(last.value_or(number + 1), number + 1);
      break;
    }
    ready.notify_all();
  }
  ready.notify_all();
  room.notify_all();
}

std::optional<StepBatches> Loader::State::make_now() {
  if (!failed.empty()) {
    std::rethrow_exception(failed.begin()->second);
  }
  try {
    const std::optional<Plan> next_plan = plan();
    return next_plan ? std::optional(make_step(*dataset, options, *next_plan)) : std::nullopt;
  } catch (...) {
    failed.emplace(0, std::current_exception());
    throw;
  }
}

std::optional<StepBatches> Loader::State::take() {
  std::unique_lock lock(mutex);
  ready.wait(lock, [&] {
    return made.contains(taken) || failed.contains(taken) || (last && taken >= *last);
  });
  if (const auto failure = failed.find(taken); failure != failed.end()) {
    std::rethrow_exception(failure->second);  // and again at every later call
  }
  if (last && taken >= *last) {
    return std::nullopt;
  }
  auto node = made.extract(taken);
  ++taken;
  room.notify_all();
  return std::move(node.mapped());
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options, Cursor begin)
    : state_(std::make_unique<State>(std::move(dataset), options, begin)) {
  check(options);
  for (int64_t i = 0; i < options.workers; ++i) {
    state_->workers.emplace_back([state = state_.get()] { state->work(); });
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stops = true;
  }
  state_->room.notify_all();
  state_->workers.clear();  // joins
}

std::optional<StepBatches> Loader::next() {
  const auto begin = std::chrono::steady_clock::now();
  auto step = state_->options.workers == 0 ? state_->make_now() : state_->take();
  const std::chrono::duration<double, std::milli> waited = std::chrono::steady_clock::now() - begin;
  state_->waited_ms += waited.count();
  return step;
}

int64_t Loader::steps_per_epoch(int64_t epoch) {
  State& state = *state_;
  const std::lock_guard lock(state.count_mutex);
  if (const auto known = state.steps.find(epoch); known != state.steps.end()) {
    return known->second;
  }
  const Order order(state.options, *state.dataset, epoch);
  if (state.options.batch_sequences > 0) {
    const int64_t most = state.options.batch_sequences;
    return state.steps[epoch] = (order.size() + most - 1) / most;
  }
  int64_t steps = 1;
  Budget budget(state.options);
  std::vector<int64_t> lengths;
  for (int64_t first = 0; first < order.size(); first += kLengthsAtOnce) {
    lengths.resize(static_cast<std::size_t>(std::min(kLengthsAtOnce, order.size() - first)));
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

double Loader::waited_ms() const { return state_->waited_ms; }

int64_t item_at(const LoaderOptions& options, const Dataset& dataset, const Cursor& cursor) {
  return Order(options, dataset, cursor.epoch)(cursor.position);
}

}  // namespace weft::data
