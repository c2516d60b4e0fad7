#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

struct ChrfOptions {
  int64_t character_order = 6;
  int64_t word_order = 0;  // 2: chrF++
  double beta = 2;         // weight of recall
  bool is_lowercased = false;
  bool keeps_whitespace = false;
};

/// chrF (Popovic, WMT 2015; with words WMT 2017), accumulated line by line; equal to sacreBLEU.
class Chrf {
 public:
  explicit Chrf(const ChrfOptions& options = {});

  /// Adds a line; of several references, the one with the best score counts.
  void add(std::string_view hypothesis, const std::vector<std::string>& references);
  double score() const;  // in [0, 100]
  /// `nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0`
  std::string signature() const;
  /// `chrF2`, `chrF2++`
  std::string name() const;

 private:
  /// Counts of one n-gram order.
  struct Matches {
    int64_t hypothesis_ngrams = 0;  // in the hypothesis
    int64_t reference_ngrams = 0;   // in the reference
    int64_t common = 0;
  };
  std::vector<Matches> compare(const std::u32string& hypothesis,
                               const std::u32string& reference) const;
  double score_of(const std::vector<Matches>& matches) const;

  ChrfOptions options_;
  int64_t references_ = 0;
  std::vector<Matches> sums_;
};

}  // namespace weft::metrics
