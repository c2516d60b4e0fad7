#include "data/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "base/string_util.h"
#include "data/error.h"

namespace weft::data {
namespace {

using Rows = std::vector<std::size_t>;

constexpr uint64_t kSplitTime = uint64_t{1} << 32;  // folds count their classes from 0

/// Joins rows that must stay in one part (union-find; the root is the first row).
class Clusters {
 public:
  explicit Clusters(std::size_t rows) : parents_(rows) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  void join(std::size_t a, std::size_t b) {
    const auto [first, second] = std::minmax({root_of(a), root_of(b)});
    parents_[second] = first;
  }

  std::size_t root_of(std::size_t row) {
    while (parents_[row] != row) {
      parents_[row] = parents_[parents_[row]];
      row = parents_[row];
    }
    return row;
  }

 private:
  std::vector<std::size_t> parents_;
};

/// Rows that stay together, each list ascending, in the order of their first rows.
std::vector<Rows> clusters_of(const std::vector<SplitRow>& rows) {
  Clusters clusters(rows.size());
  std::unordered_map<uint64_t, std::size_t> contents;
  std::unordered_map<uint64_t, std::size_t> groups;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].is_dropped) {
      clusters.join(row, contents.emplace(rows[row].content, row).first->second);
      if (rows[row].group != 0) {
        clusters.join(row, groups.emplace(rows[row].group, row).first->second);
      }
    }
  }
  std::vector<Rows> found;
  std::unordered_map<std::size_t, std::size_t> numbers;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].is_dropped) {
      const auto [entry, is_new] = numbers.emplace(clusters.root_of(row), found.size());
      if (is_new) {
        found.emplace_back();
      }
      found[entry->second].push_back(row);
    }
  }
  return found;
}

/// Large clusters first, since small ones fill what is left of the parts; shuffled among equals.
std::vector<Rows> in_random_order(const std::vector<Rows>& clusters, uint64_t seed) {
  const Permutation order(static_cast<int64_t>(clusters.size()), seed, RandomPurpose::kFolds,
                          kSplitTime);
  std::vector<Rows> shuffled;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    shuffled.push_back(clusters[static_cast<std::size_t>(order(static_cast<int64_t>(i)))]);
  }
  std::stable_sort(shuffled.begin(), shuffled.end(),
                   [](const Rows& a, const Rows& b) { return a.size() > b.size(); });
  return shuffled;
}

// A text with more repetitions is at most 5 % of a part.
constexpr int64_t kFewRepetitions = 5;
constexpr int64_t kLeastTextsOfPart = 20;

/// Rows per class in one part.
using Counts = std::vector<int64_t>;

int64_t sum_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

/// Divides `wanted` rows among the classes in proportion to their rows, by the largest remainder.
/// `taken`: rows that other parts already have; each class keeps a row for training.
Counts apportion(const Counts& rows, const Counts& taken, int64_t wanted) {
  Counts divisible = rows;
  std::replace(divisible.begin(), divisible.end(), int64_t{1}, int64_t{0});
  const int64_t all = std::max<int64_t>(sum_of(divisible), 1);
  Counts found(rows.size());
  Counts remainders(rows.size());
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto has_left = [&](std::size_t i) { return found[i] + taken[i] + 1 < rows[i]; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    found[i] =
        std::min(wanted * divisible[i] / all, std::max<int64_t>(divisible[i] - 1 - taken[i], 0));
    remainders[i] = wanted * divisible[i] % all;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  int64_t missing = wanted - sum_of(found);
  for (const auto i : order) {
    if (missing > 0 && has_left(i)) {
      ++found[i];
      --missing;
    }
  }
  return found;
}

int64_t rows_wanted(const std::optional<double>& size, int64_t rows, std::string_view key) {
  if (!size) {
    return 0;
  }
  const auto wanted = static_cast<int64_t>(
      *size < 1 ? std::llround(*size * static_cast<double>(rows)) : static_cast<long long>(*size));
  if (wanted == 0) {
    throw Error(str_cat("data.split.", key, ": ", *size, " of ", rows,
                        " rows is less than one row, must be a larger fraction or a number of "
                        "rows"));
  }
  return wanted;
}

class Splitter {
 public:
  Splitter(const std::vector<SplitRow>& rows, const SplitOptions& options)
      : rows_(rows), options_(options), classes_(rows.size()) {
    std::unordered_map<std::string_view, std::size_t> numbers;
    Counts counts;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].is_dropped) {
        continue;
      }
      const std::string_view label = options.stratify ? std::string_view(rows[row].label) : "";
      const auto [entry, is_new] = numbers.emplace(label, names_.size());
      if (is_new) {
        names_.emplace_back(label);
        counts.push_back(0);
      }
      classes_[row] = entry->second;
      ++counts[entry->second];
    }
    set_targets(counts);
  }

  Split split(uint64_t seed) {
    Split result;
    result.parts.assign(rows_.size(), SplitPart::kNone);
    const auto clusters = in_random_order(clusters_of(rows_), seed);
    std::unordered_map<std::size_t, int64_t> rows_by_size;
    int64_t smaller = 0;  // rows of smaller clusters, which come later
    for (const Rows& cluster : clusters) {
      rows_by_size[cluster.size()] += static_cast<int64_t>(cluster.size());
      smaller += static_cast<int64_t>(cluster.size());
    }
    for (const Rows& cluster : clusters) {
      smaller -= std::exchange(rows_by_size[cluster.size()], 0);
      const auto part = best_part(cluster, smaller);
      for (const auto row : cluster) {
        result.parts[row] = part;
        ++filled(part)[classes_[row]];
      }
      left(part) -= static_cast<int64_t>(cluster.size());
    }
    check_parts();
    result.remarks = remarks();
    return result;
  }

 private:
  Counts& filled(SplitPart part) { return filled_[static_cast<std::size_t>(part)]; }
  Counts& target(SplitPart part) { return targets_[static_cast<std::size_t>(part)]; }
  int64_t& left(SplitPart part) { return left_[static_cast<std::size_t>(part)]; }

  void set_targets(const Counts& counts) {
    const int64_t all = sum_of(counts);
    const int64_t evaluate = rows_wanted(options_.evaluate, all, "evaluate");
    const int64_t test = rows_wanted(options_.test, all, "test");
    if (evaluate + test >= all) {
      throw Error(str_cat("data.split: ", evaluate, " rows to evaluate and ", test,
                          " to test, but the training data have ", all,
                          ": no rows would be left for training"));
    }
    totals_ = counts;
    filled_.fill(Counts(counts.size()));
    target(SplitPart::kEvaluate) = apportion(counts, Counts(counts.size()), evaluate);
    target(SplitPart::kTest) = apportion(counts, target(SplitPart::kEvaluate), test);
    target(SplitPart::kTrain) = counts;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      target(SplitPart::kTrain)[i] -= target(SplitPart::kEvaluate)[i] + target(SplitPart::kTest)[i];
    }
    std::transform(targets_.begin(), targets_.end(), left_.begin(), sum_of);
  }

  /// How much of what the part should have of the rows' classes is missing, summed over the rows.
  double need(SplitPart part, const Rows& cluster) {
    double sum = 0;
    for (const auto row : cluster) {
      const auto wanted = target(part)[classes_[row]];
      sum += static_cast<double>(wanted - filled(part)[classes_[row]]) /
             static_cast<double>(std::max<int64_t>(wanted, 1));
    }
    return sum;
  }

  /// The part that needs the rows most, of those that they fit into. Without enough smaller
  /// clusters to fill the parts, half of the rows suffices; with them, a text that would be much of
  /// a part by its repetitions alone is trained on.
  SplitPart best_part(const Rows& cluster, int64_t smaller) {
    const auto size = static_cast<int64_t>(cluster.size());
    const bool is_strict = smaller >= left(SplitPart::kEvaluate) + left(SplitPart::kTest);
    const bool has_rare = std::any_of(cluster.begin(), cluster.end(),
                                      [&](auto row) { return totals_[classes_[row]] == 1; });
    auto best = SplitPart::kTrain;
    double most = need(best, cluster);
    for (const auto part : {SplitPart::kEvaluate, SplitPart::kTest}) {
      const bool is_repetition = is_strict && !options_.group && size > kFewRepetitions &&
                                 size * kLeastTextsOfPart > sum_of(target(part));
      const bool fits = (is_strict ? 1 : 2) * left(part) >= size && !is_repetition;
      const double here = need(part, cluster);
      if (fits && !has_rare && here >= most) {
        best = part;
        most = here;
      }
    }
    return best;
  }

  void check_parts() {
    for (const auto& [name, part] : kSplitParts) {
      if (sum_of(filled(part)) == 0 && sum_of(target(part)) > 0) {
        throw Error(str_cat("data.split: no rows are left for ", name, ", as ",
                            options_.group ? "groups of " + *options_.group : "duplicates",
                            " stay together"));
      }
    }
    if ((options_.evaluate && sum_of(target(SplitPart::kEvaluate)) == 0) ||
        (options_.test && sum_of(target(SplitPart::kTest)) == 0)) {
      throw Error(
          "data.split: too few rows per class to have some in each part, set stratify: false");
    }
  }

  std::vector<std::string> remarks() {
    std::vector<std::string> found;
    Rows single;
    for (std::size_t i = 0; i < totals_.size(); ++i) {
      if (totals_[i] == 1) {
        single.push_back(i);
      }
    }
    if (!single.empty()) {
      found.push_back(str_cat("split: classes with a single row, which is used for training: ",
                              names_of(single)));
    }
    for (const auto& [name, part] : kSplitParts) {
      Rows absent;
      for (std::size_t i = 0; i < totals_.size(); ++i) {
        if (totals_[i] > 1 && filled(part)[i] == 0) {
          absent.push_back(i);
        }
      }
      if (!absent.empty() && sum_of(filled(part)) > 0) {
        found.push_back(
            str_cat("split: no rows of these classes in ", name, ": ", names_of(absent)));
      }
    }
    return found;
  }

  std::string names_of(const Rows& classes) const {
    std::vector<std::string> names;
    for (const auto number : classes) {
      names.push_back(names_[number]);
    }
    return quoted_text(names) + (names.size() > 12 ? str_cat(", ... (", names.size(), ")") : "");
  }

  const std::vector<SplitRow>& rows_;
  const SplitOptions& options_;
  std::vector<std::size_t> classes_;  // of the rows
  std::vector<std::string> names_;    // of the classes
  Counts totals_;
  std::array<Counts, 4> targets_;  // by part
  std::array<Counts, 4> filled_;
  std::array<int64_t, 4> left_ = {};  // rows that a part still should have
};

}  // namespace

Split assign_split(const std::vector<SplitRow>& rows, const SplitOptions& options, uint64_t seed) {
  return Splitter(rows, options).split(seed);
}

}  // namespace weft::data
