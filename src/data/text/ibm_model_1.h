#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weft::data {

/// Calls the visitor with the tokens of each pair of texts, always in the same order.
using TokenPairVisitor =
    std::function<void(std::span<const int64_t> source, std::span<const int64_t> target)>;
using VisitTokenPairs = std::function<void(const TokenPairVisitor&)>;

struct IbmModel1Options {
  int64_t source_vocabulary = 0;  // ids of sources are below it
  int64_t iterations = 5;         // of expectation maximisation
};

struct TokenTranslation {
  int32_t target = 0;
  double probability = 0;
};

/// Translation probabilities t(target | source) of IBM model 1 (Brown et al., "The Mathematics of
/// Statistical Machine Translation", Computational Linguistics 19(2), 1993, section 4.1): each
/// target token translates one token of its source, or none, all of which are equally likely
/// beforehand. The probabilities of a source token sum to 1. They have no randomness: the first
/// iteration starts from equal ones.
class IbmModel1 {
 public:
  /// Visits the pairs once for the tokens that occur together, of which all are kept in memory, and
  /// once for each iteration.
  IbmModel1(const VisitTokenPairs& visit_pairs, const IbmModel1Options& options);

  /// The `count` most likely translations of a source token, best first, equally likely ones in
  /// order of their ids. Empty for tokens that do not occur.
  std::vector<TokenTranslation> best(int64_t source, int64_t count) const;

 private:
  /// The targets that occur together with a source token.
  struct Row {
    std::vector<int32_t> targets;  // ascending once all are there
    std::size_t distinct = 0;      // of them, when duplicates were last removed
    std::vector<double> probabilities;
    std::vector<double> counts;  // expected ones

    void add(std::span<const int64_t> tokens);
    void remove_duplicates();
    std::size_t position(int64_t target) const;
  };

  void collect(std::span<const int64_t> source, std::span<const int64_t> target);
  /// Expectation step: adds the expected counts of a pair.
  void count(std::span<const int64_t> source, std::span<const int64_t> target);
  /// Maximisation step.
  void normalize();

  std::vector<Row> rows_;  // of the source tokens; the last one of no token
  std::vector<Row*> pair_rows_;
  std::vector<std::size_t> positions_;
};

}  // namespace weft::data
