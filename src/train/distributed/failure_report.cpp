#include "train/distributed/failure_report.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include "base/string_util.h"

namespace weft::train {
namespace {

using std::chrono::milliseconds;

// After an error, ranks that are alive report it to the store within this time.
constexpr milliseconds kReportTime(1500);
constexpr milliseconds kAnswerTime(1000);  // of the store, beyond kReportTime

// A process has one rank.
std::atomic<int> reported_rank{-1};
std::atomic<int64_t> reported_step{-1};
std::terminate_handler previous_terminate = nullptr;

std::string at_step() {
  const int64_t step = reported_step;
  return step < 0 ? "" : str_cat(" at step ", step);
}

std::string failed_key(int rank) { return str_cat("failed/", rank); }

std::string left_key(int rank) { return str_cat("left/", rank); }

/// Gloo ends the process from one of its threads when a message is larger than expected.
[[noreturn]] void explain_terminate() {
  std::string reason = "unknown";
  if (const auto current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (const std::exception& error) {
      reason = cause_of(error);
    } catch (...) {
      reason = "not a std::exception";
    }
  }
  std::fputs(
      str_cat("error: rank ", reported_rank.load(), at_step(), ": uncaught exception: ", reason,
              ". In a thread of Gloo: the ranks called different operations, or with "
              "different sizes\n")
          .c_str(),
      stderr);
  if (previous_terminate != nullptr) {
    previous_terminate();
  }
  std::abort();
}

/// The ranks that left or, if none, those that do not report the error too.
std::vector<int> silent_ranks(const Rendezvous& meeting, int rank) {
  // The store may not answer either: asks it in a thread that can be left behind.
  std::packaged_task<std::vector<int>()> ask(
      [store = meeting.store, rank, size = static_cast<int>(meeting.hosts.size())] {
        store->setTimeout(kReportTime + kAnswerTime);
        store->set(failed_key(rank), std::string("1"));
        std::this_thread::sleep_for(kReportTime);
        const bool has_leavers = leavers(*store) > 0;
        std::vector<int> silent;
        for (int other = 0; other < size; ++other) {
          const bool is_silent =
              has_leavers ? store->check({left_key(other)}) : !store->check({failed_key(other)});
          if (is_silent) {
            silent.push_back(other);
          }
        }
        return silent;
      });
  auto answer = ask.get_future();
  std::thread(std::move(ask)).detach();
  if (answer.wait_for(kReportTime + kAnswerTime) == std::future_status::ready) {
    try {
      return answer.get();
    } catch (const std::exception&) {
    }
  }
  return rank == 0 ? std::vector<int>() : std::vector<int>{0};  // rank 0 has the store
}

}  // namespace

void prepare_failure_report(int rank) {
  reported_rank = rank;
  static std::once_flag once;
  std::call_once(once, [] {
    // Otherwise every failed call prints dozens of lines; the errors themselves say enough.
    ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
    c10::initLogging();
    previous_terminate = std::set_terminate(&explain_terminate);
  });
}

void set_reported_step(int64_t step) { reported_step = step; }

std::string cause_of(const std::exception& error) {
  const auto* const torch_error = dynamic_cast<const c10::Error*>(&error);
  std::string_view text =
      torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
  text = text.substr(0, text.find('\n'));
  if (text.starts_with('[') && text.find("] ") != std::string_view::npos) {
    text.remove_prefix(text.find("] ") + 2);
  }
  return std::string(text);
}

std::string failure_report(const Rendezvous& meeting,
                           int rank,
                           std::string_view operation,
                           const std::string& cause) {
  std::vector<std::string> names;
  for (const int other : silent_ranks(meeting, rank)) {
    names.push_back(str_cat(other, " (host ", meeting.hosts[static_cast<std::size_t>(other)], ")"));
  }
  const std::string place = str_cat(at_step(), " in ", operation, ": ", cause);
  if (names.empty()) {
    return str_cat("all ranks are alive, but a call failed", place);
  }
  return str_cat(names.size() == 1 ? "rank " : "ranks ", join(names), " did not answer", place);
}

int64_t report_leaving(c10d::Store& store, int rank) {
  store.set(left_key(rank), std::string("1"));
  return store.add("left", 1);
}

int64_t leavers(c10d::Store& store) { return store.add("left", 0); }

}  // namespace weft::train
