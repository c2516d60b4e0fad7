#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "train/distributed/rendezvous.h"

namespace weft::train {

/// Prepares this process for failures of LibTorch's communication: silences its log unless
/// TORCH_CPP_LOG_LEVEL is set, and explains an uncaught exception in a thread of Gloo.
void prepare_failure_report(int rank);

/// The step that messages name; none before the first call.
void set_reported_step(int64_t step);

/// The message of an error of LibTorch without stack and source file; `connection closed` for all
/// its forms.
std::string cause_of(const std::exception& error);

/// Tells the other ranks that a call failed here and names those that left or, after 1.5 s, do not
/// tell the same: `rank 2 (host b) did not answer at step 1200 in all-gather: timed out after 5 min
/// 00 s`. The connections must be closed before, so that all ranks notice. Rank 0 waits until the
/// others have read it.
std::string failure_report(const Rendezvous& meeting,
                           int rank,
                           std::string_view operation,
                           const std::string& cause);

/// Tells the other ranks that this one leaves; returns how many have left.
int64_t report_leaving(c10d::Store& store, int rank);

/// Number of ranks that have left.
int64_t leavers(c10d::Store& store);

/// Why the other ranks cannot continue: one has left or reported a failure; empty if none.
std::string reported_failure(c10d::Store& store);

/// `timed out after 5 min 00 s`.
std::string timed_out_after(std::chrono::milliseconds time);

/// The answer of the store to `question`, which may not refer to what the caller owns: without an
/// answer in time, the thread that waits for it is left behind. Calls of the store have no timeout
/// of their own if the process that serves it is stopped. Throws std::runtime_error.
template <class Question>
auto ask_in_time(std::chrono::milliseconds limit, Question question) {
  std::packaged_task<decltype(question())()> task([question = std::move(question)]() mutable {
    auto own = std::move(question);  // releases the store before the caller continues
    return own();
  });
  auto answer = task.get_future();
  std::thread(std::move(task)).detach();
  if (answer.wait_for(limit) != std::future_status::ready) {
    throw std::runtime_error(timed_out_after(limit));
  }
  return answer.get();
}

}  // namespace weft::train
