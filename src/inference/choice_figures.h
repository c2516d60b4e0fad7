#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inference/likelihood.h"

namespace weft::inference {

/// The place of the largest value; of equal ones the first.
int64_t best_of(const std::vector<double>& values);

/// Mean and standard error of values that come one by one.
class MeanFigure {
 public:
  void add(double value);
  int64_t count() const { return count_; }
  double mean() const;
  /// sample deviation / root of the count; 0 of fewer than two.
  double standard_error() const;

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared distances from the mean (Welford)
};

/// Figures of questions with choices, of continuations and of texts, by the conventions of
/// lm-evaluation-harness:
///   accuracy         the likeliest choice is the right one
///   acc_norm         by log-probability for each character of the choice
///   acc_bytes        for each byte
///   acc_mutual_info  less the log-probability without the context
///   perplexity       exp(-mean log-probability), of continuations
///   word_perplexity, byte_perplexity, bits_per_byte, of texts
/// each with its standard error, by the delta method where it is no mean.
class ScoreFigures {
 public:
  struct Choices {
    std::vector<std::string> texts;
    std::vector<double> log_probabilities;
    std::vector<double> unconditional = {};  // or nothing
    std::optional<int64_t> label = {};
  };
  void add(const Choices& choices);
  void add_continuation(const Likelihood& likelihood);
  /// `words`: of the text.
  void add_text(const Likelihood& likelihood, int64_t words, int64_t bytes);

  /// In the order above; words 0: those that were added count.
  std::vector<std::pair<std::string, double>> result(int64_t words = 0) const;

 private:
  struct TextFigures {
    double log_probability;
    double words;
    double bytes;
  };
  void add_ratio(std::vector<std::pair<std::string, double>>& result,
                 const std::string& name,
                 double TextFigures::*unit,
                 double total,
                 bool is_bits) const;

  int64_t items_ = 0;
  std::map<std::string, MeanFigure> means_;
  MeanFigure continuations_;
  MeanFigure greedy_;
  std::vector<TextFigures> texts_;
};

/// Parts between white space as Python's `re.split(r"\s+", text)` counts them: empty ones at the
/// ends too.
int64_t split_count(std::string_view text);

}  // namespace weft::inference
