#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inference/likelihood.h"

namespace weft::inference {

/// Index of the largest value; of equal ones the first.
int64_t argmax(const std::vector<double>& values);

/// Running mean and standard error.
class MeanMetric {
 public:
  void add(double value);
  int64_t count() const { return count_; }
  double mean() const;
  /// Sample standard deviation / sqrt(count); 0 for fewer than two values.
  double standard_error() const;

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // sum of squared distances from the mean (Welford)
};

/// Metrics of multiple-choice questions, of continuations and of texts, as defined by
/// lm-evaluation-harness:
///   accuracy         the choice of highest log-probability is the right one
///   acc_norm         by log-probability per character of the choice
///   acc_bytes        by log-probability per byte
///   acc_mutual_info  by log-probability minus that without the context
///   perplexity       exp(-mean log-probability), of continuations
///   word_perplexity, byte_perplexity, bits_per_byte, of texts
/// each with its standard error, by the delta method if it is not a mean.
class ScoreMetrics {
 public:
  struct Choices {
    std::vector<std::string> texts;
    std::vector<double> log_probabilities;
    std::vector<double> unconditional = {};  // or empty
    std::optional<int64_t> label = {};
  };
  void add(const Choices& choices);
  void add_continuation(const Likelihood& likelihood);
  /// `words`: in the text.
  void add_text(const Likelihood& likelihood, int64_t words, int64_t bytes);

  /// In the order above. `words`: in all texts; 0: the sum of those added.
  std::vector<std::pair<std::string, double>> result(int64_t words = 0) const;

 private:
  struct TextLikelihood {
    double log_probability;
    double words;
    double bytes;
  };
  void add_ratio(std::vector<std::pair<std::string, double>>& result,
                 const std::string& name,
                 double TextLikelihood::*unit,
                 double total,
                 bool is_bits) const;

  int64_t items_ = 0;
  std::map<std::string, MeanMetric> means_;
  MeanMetric continuations_;
  MeanMetric greedy_;
  std::vector<TextLikelihood> texts_;
};

/// Number of parts between white space in Python's `re.split(r"\s+", text)`, including empty ones
/// at the ends.
int64_t split_count(std::string_view text);

}  // namespace weft::inference
