#include "base/fault_injection.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/string_util.h"

namespace weft::fault {

namespace {

constexpr std::array<std::string_view, 11> kCallNames = {"open",   "write",    "flush", "close",
                                                         "rename", "exchange", "link",  "remove",
                                                         "mkdir",  "truncate", "space"};

constexpr std::array<std::pair<std::string_view, int>, 9> kErrors = {{{"ENOSPC", ENOSPC},
                                                                      {"EIO", EIO},
                                                                      {"EDQUOT", EDQUOT},
                                                                      {"EROFS", EROFS},
                                                                      {"EACCES", EACCES},
                                                                      {"ENOENT", ENOENT},
                                                                      {"EMFILE", EMFILE},
                                                                      {"EFBIG", EFBIG},
                                                                      {"EINVAL", EINVAL}}};

constexpr std::array<std::pair<std::string_view, int>, 4> kSignals = {
    {{"SIGKILL", SIGKILL}, {"SIGTERM", SIGTERM}, {"SIGINT", SIGINT}, {"SIGUSR1", SIGUSR1}}};

/// One entry of a plan.
struct Rule {
  std::optional<Call> call;  // nullopt: any
  std::string part;          // substring of the path; empty: any
  int64_t first = 0;
  int64_t last = 0;
  int error = 0;
  int signal = 0;
  bool is_torn = false;
  bool is_slow = false;
  int64_t calls = 0;  // matching ones so far
};

[[noreturn]] void reject(std::string_view rule) {
  throw UserError(str_cat("fault plan: '", rule,
                          "' is not CALL:WHICH:WHAT, as in write:7:ENOSPC or any:12+:SIGKILL"));
}

template <class Table>
int fault_value_of(const Table& table, std::string_view name) {
  for (const auto& [known, value] : table) {
    if (known == name) {
      return value;
    }
  }
  return 0;
}

std::optional<Call> parse_call(std::string_view name, std::string_view rule) {
  if (name == "any") {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < kCallNames.size(); ++i) {
    if (kCallNames[i] == name) {
      return static_cast<Call>(i);
    }
  }
  reject(rule);
}

int64_t parse_number(std::string_view digits, std::string_view rule) {
  int64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < 1) {
    reject(rule);
  }
  return value;
}

Rule parse_rule(std::string_view words) {
  const auto parts = split(words, ':');
  if (parts.size() != 3) {
    reject(words);
  }
  Rule rule;
  const auto at = parts[0].find('@');
  rule.call = parse_call(parts[0].substr(0, at), words);
  rule.part = at == std::string_view::npos ? "" : parts[0].substr(at + 1);
  const auto which = parts[1];
  if (which.ends_with('+')) {
    rule.first = parse_number(which.substr(0, which.size() - 1), words);
    rule.last = std::numeric_limits<int64_t>::max();
  } else {
    const auto ends = split(which, '-');
    rule.first = parse_number(ends.front(), words);
    rule.last = parse_number(ends.back(), words);
  }
  rule.error = fault_value_of(kErrors, parts[2]);
  rule.signal = fault_value_of(kSignals, parts[2]);
  rule.is_torn = parts[2] == "torn" && rule.call == Call::kWrite;
  rule.is_slow = parts[2] == "slow";
  if (rule.error == 0 && rule.signal == 0 && !rule.is_torn && !rule.is_slow) {
    reject(words);
  }
  return rule;
}

std::vector<Rule> parse(std::string_view plan) {
  std::vector<Rule> rules;
  for (const auto words : split(plan, ';')) {
    if (!words.empty()) {
      rules.push_back(parse_rule(words));
    }
  }
  return rules;
}

class FaultInjector {
 public:
  FaultInjector() {
    const char* const plan = std::getenv("WEFT_FAULT");
    rules_ = parse(plan == nullptr ? "" : plan);
  }

  void set(std::vector<Rule> rules) {
    const std::lock_guard lock(mutex_);
    rules_ = std::move(rules);
    calls_ = 0;
    injected_ = 0;
  }

  int64_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  int64_t injected() {
    const std::lock_guard lock(mutex_);
    return injected_;
  }

  void record(bool is_enabled) {
    const std::lock_guard lock(mutex_);
    is_recording_ = is_enabled;
    recorded_.clear();
  }

  std::vector<std::string> recorded() {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }

  FaultOutcome inject(Call call, std::string_view what) {
    const auto found = find(call, what);
    // Outside the lock, so that only the calling thread waits.
    for (int i = 0; i < found.waits; ++i) {
      const timespec time{.tv_sec = 0, .tv_nsec = 50'000'000};
      ::nanosleep(&time, nullptr);
    }
    for (const int signal : found.signals) {
      std::raise(signal);
    }
    return found.outcome;
  }

 private:
  struct Found {
    int waits = 0;
    std::vector<int> signals;
    FaultOutcome outcome;
  };

  Found find(Call call, std::string_view what) {
    const std::lock_guard lock(mutex_);
    ++calls_;
    if (is_recording_) {
      recorded_.push_back(str_cat(kCallNames[static_cast<std::size_t>(call)], " ", what));
    }
    Found found;
    for (auto& rule : rules_) {
      if ((rule.call && *rule.call != call) || what.find(rule.part) == std::string_view::npos) {
        continue;
      }
      ++rule.calls;
      if (rule.calls >= rule.first && rule.calls <= rule.last) {
        ++injected_;
        add(rule, found);
      }
    }
    return found;
  }

  static void add(const Rule& rule, Found& found) {
    found.waits += rule.is_slow ? 1 : 0;
    if (rule.signal != 0) {
      found.signals.push_back(rule.signal);
    }
    found.outcome.is_torn = found.outcome.is_torn || rule.is_torn;
    found.outcome.error = rule.error != 0 ? rule.error : found.outcome.error;
  }

  std::mutex mutex_;
  std::vector<Rule> rules_;
  int64_t calls_ = 0;
  int64_t injected_ = 0;
  bool is_recording_ = false;
  std::vector<std::string> recorded_;
};

FaultInjector& fault_injector() {
  static FaultInjector faults;
  return faults;
}

}  // namespace

void set_plan(std::string_view plan) { fault_injector().set(parse(plan)); }
int64_t calls() { return fault_injector().calls(); }
int64_t injected() { return fault_injector().injected(); }
void record(bool is_enabled) { fault_injector().record(is_enabled); }
std::vector<std::string> recorded() { return fault_injector().recorded(); }
FaultOutcome inject(Call call, std::string_view what) {
  return fault_injector().inject(call, what);
}

}  // namespace weft::fault
