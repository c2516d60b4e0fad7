#include "base/fault.h"

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
#include "base/text.h"

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
  std::optional<Call> call;  // nothing: any
  std::string part;          // of the path; empty: any
  int64_t first = 0;
  int64_t last = 0;
  int error = 0;
  int signal = 0;
  bool is_torn = false;
  bool is_slow = false;
  int64_t seen = 0;  // calls of its kind
};

[[noreturn]] void refuse(std::string_view rule) {
  throw UserError(text("fault plan: '", rule,
                       "' is not CALL:WHICH:WHAT, like write:7:ENOSPC or any:12+:SIGKILL"));
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
  refuse(rule);
}

int64_t parse_number(std::string_view digits, std::string_view rule) {
  int64_t value = 0;
  const auto* const end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end || value < 1) {
    refuse(rule);
  }
  return value;
}

Rule parse_rule(std::string_view words) {
  const auto parts = split(words, ':');
  if (parts.size() != 3) {
    refuse(words);
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
    refuse(words);
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

class Faults {
 public:
  Faults() {
    const char* const plan = std::getenv("WEFT_FAULT");
    rules_ = parse(plan == nullptr ? "" : plan);
  }

  void set(std::vector<Rule> rules) {
    const std::lock_guard lock(mutex_);
    rules_ = std::move(rules);
    calls_ = 0;
    struck_ = 0;
  }

  int64_t calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  int64_t struck() {
    const std::lock_guard lock(mutex_);
    return struck_;
  }

  void record(bool wish) {
    const std::lock_guard lock(mutex_);
    records_ = wish;
    recorded_.clear();
  }

  std::vector<std::string> recorded() {
    const std::lock_guard lock(mutex_);
    return recorded_;
  }

  Verdict strike(Call call, std::string_view what) {
    const auto found = find(call, what);
    // Without the lock: only the thread that makes the call waits.
    for (int i = 0; i < found.waits; ++i) {
      const timespec time{.tv_sec = 0, .tv_nsec = 50'000'000};
      ::nanosleep(&time, nullptr);
    }
    for (const int signal : found.signals) {
      std::raise(signal);
    }
    return found.verdict;
  }

 private:
  struct Found {
    int waits = 0;
    std::vector<int> signals;
    Verdict verdict;
  };

  Found find(Call call, std::string_view what) {
    const std::lock_guard lock(mutex_);
    ++calls_;
    if (records_) {
      recorded_.push_back(text(kCallNames[static_cast<std::size_t>(call)], " ", what));
    }
    Found found;
    for (auto& rule : rules_) {
      if ((rule.call && *rule.call != call) || what.find(rule.part) == std::string_view::npos) {
        continue;
      }
      ++rule.seen;
      if (rule.seen >= rule.first && rule.seen <= rule.last) {
        ++struck_;
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
    found.verdict.is_torn = found.verdict.is_torn || rule.is_torn;
    found.verdict.error = rule.error != 0 ? rule.error : found.verdict.error;
  }

  std::mutex mutex_;
  std::vector<Rule> rules_;
  int64_t calls_ = 0;
  int64_t struck_ = 0;
  bool records_ = false;
  std::vector<std::string> recorded_;
};

Faults& the_faults() {
  static Faults faults;
  return faults;
}

}  // namespace

void set_plan(std::string_view plan) { the_faults().set(parse(plan)); }
int64_t calls() { return the_faults().calls(); }
int64_t struck() { return the_faults().struck(); }
void record(bool wish) { the_faults().record(wish); }
std::vector<std::string> recorded() { return the_faults().recorded(); }
Verdict strike(Call call, std::string_view what) { return the_faults().strike(call, what); }

}  // namespace weft::fault
