#include "train/distributed/failure_report.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include "base/string_util.h"

namespace weft::train {
namespace {

using std::chrono::milliseconds;

// After an error, ranks that are alive report it to the store within this time.
constexpr milliseconds kReportTime(1500);
constexpr milliseconds kReadTime(800);  // for the others to read the reports
constexpr milliseconds kReportPoll(10);
constexpr const char* kFailureCount = "failed";
constexpr const char* kLeaverCount = "left";

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
  std::fflush(stderr);
  if (previous_terminate != nullptr) {
    previous_terminate();
  }
  std::abort();
}

/// Ranks with whom the others cannot continue.
struct Culprits {
  std::vector<int> ranks;
  bool has_left = false;
};

std::vector<int> ranks_with(c10d::Store& store,
                            int size,
                            const std::function<std::string(int)>& key,
                            bool is_set) {
  std::vector<int> ranks;
  for (int rank = 0; rank < size; ++rank) {
    if (store.check({key(rank)}) == is_set) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

/// The ranks that left or, if none does in time, those that do not report the error too.
Culprits ask_store(c10d::Store& store, int rank, int size) {
  const auto deadline = std::chrono::steady_clock::now() + kReportTime;
  store.setTimeout(kReportTime);
  store.set(failed_key(rank), std::string("1"));
  store.add(kFailureCount, 1);
  Culprits culprits;
  do {
    std::this_thread::sleep_for(kReportPoll);
    culprits.has_left = leavers(store) > 0;
    culprits.ranks = culprits.has_left ? ranks_with(store, size, left_key, true)
                                       : ranks_with(store, size, failed_key, false);
  } while (!culprits.has_left && !culprits.ranks.empty() &&
           std::chrono::steady_clock::now() < deadline);
  // The process with the store must not end before the others have read this.
  const auto readers = size - static_cast<int64_t>(culprits.ranks.size());
  for (int64_t count = store.add("read", 1);
       rank == 0 && count < readers && std::chrono::steady_clock::now() < deadline + kReadTime;
       count = store.add("read", 0)) {
    std::this_thread::sleep_for(kReportPoll);
  }
  return culprits;
}

Culprits find_culprits(const Rendezvous& meeting, int rank) {
  try {
    return ask_in_time(kReportTime + kReadTime,
                       [store = meeting.store, rank, size = meeting.hosts.size()] {
                         return ask_store(*store, rank, static_cast<int>(size));
                       });
  } catch (const std::exception&) {
    return {rank == 0 ? std::vector<int>() : std::vector<int>{0}, false};  // rank 0 has the store
  }
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
  for (const auto* const closed : {"Connection closed", "Connection reset", "Read error",
                                   "Write error", "Broken pipe", "Connection was likely closed"}) {
    if (text.find(closed) != std::string_view::npos) {
      return "connection closed";
    }
  }
  return std::string(text);
}

std::string failure_report(const Rendezvous& meeting,
                           int rank,
                           std::string_view operation,
                           const std::string& cause) {
  const auto [culprits, has_left] = find_culprits(meeting, rank);
  std::vector<std::string> names;
  for (const int other : culprits) {
    names.push_back(str_cat(other, " (host ", meeting.hosts[static_cast<std::size_t>(other)], ")"));
  }
  const std::string place = str_cat(at_step(), " in ", operation, ": ", cause);
  if (names.empty()) {
    return str_cat("all ranks are alive, but cannot continue", place);
  }
  return str_cat(names.size() == 1 ? "rank " : "ranks ", join(names),
                 has_left ? " left" : " did not answer", place);
}

int64_t report_leaving(c10d::Store& store, int rank) {
  store.set(left_key(rank), std::string("1"));
  return store.add(kLeaverCount, 1);
}

int64_t leavers(c10d::Store& store) { return store.add(kLeaverCount, 0); }

std::string reported_failure(c10d::Store& store) {
  if (leavers(store) > 0) {
    return "connection closed";
  }
  return store.add(kFailureCount, 0) > 0 ? "reported by another rank" : "";
}

std::string timed_out_after(milliseconds time) {
  return "timed out after " + format_duration(static_cast<double>(time.count()) / 1000.0);
}

}  // namespace weft::train
