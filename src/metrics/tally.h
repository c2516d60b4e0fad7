#pragma once

#include <cstdint>
#include <vector>

#include "formats/json.h"
#include "metrics/metrics.h"

namespace weft::metrics {

/// Counts of right and wrong decisions for each class, from which precision, recall and F1 come.
class Tally {
 public:
  explicit Tally(int64_t classes);

  /// One class was wanted, one was found.
  void add(int64_t wanted, int64_t found);
  /// Of one class: was it wanted, was it found?
  void decide(int64_t name, bool is_wanted, bool is_found);

  int64_t classes() const { return static_cast<int64_t>(wanted_.size()); }
  double hits(int64_t name) const { return hits_[static_cast<std::size_t>(name)]; }
  double found(int64_t name) const { return found_[static_cast<std::size_t>(name)]; }
  /// How often the class was wanted.
  double support(int64_t name) const { return wanted_[static_cast<std::size_t>(name)]; }

  /// 0 where a quotient has no denominator, as scikit-learn has it.
  ClassScores of(int64_t name) const;
  /// Of all decisions together.
  ClassScores micro() const;
  /// The plain mean over the classes: all, or those that occur among wanted and found ones.
  ClassScores macro() const;
  ClassScores macro_of_present() const;
  /// The mean over the classes by their support.
  ClassScores weighted() const;

 private:
  ClassScores mean(const std::vector<double>& weights) const;

  std::vector<double> hits_;
  std::vector<double> found_;
  std::vector<double> wanted_;
};

/// One entry of `per_class`.
formats::Json score_json(const ClassScores& scores, double support);

}  // namespace weft::metrics
