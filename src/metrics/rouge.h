#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::metrics {

struct RougeScore {
  double precision = 0;
  double recall = 0;
  double f1 = 0;
};

/// ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum of one text.
struct RougeScores {
  RougeScore rouge_1;
  RougeScore rouge_2;
  RougeScore rouge_l;     // longest common subsequence (LCS) of the texts
  RougeScore rouge_lsum;  // union of the LCS of the lines (Lin 2004, section 3.2)
};

/// ROUGE (Lin, 2004) as in Google's rouge_score: words consist of letters a-z and digits,
/// everything else separates them. All scores are in [0, 1].
RougeScores rouge(std::string_view hypothesis, std::string_view reference, bool use_stemmer);

/// Means over texts; with several references, each score uses its best one.
class Rouge {
 public:
  explicit Rouge(bool use_stemmer = false) : use_stemmer_(use_stemmer) {}
  void add(std::string_view hypothesis, const std::vector<std::string>& references);
  RougeScores mean() const;

 private:
  bool use_stemmer_;
  int64_t texts_ = 0;
  RougeScores sums_;
};

}  // namespace weft::metrics
