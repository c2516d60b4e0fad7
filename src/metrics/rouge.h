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
  RougeScore one;
  RougeScore two;
  RougeScore longest;          // longest common subsequence of the whole texts
  RougeScore longest_by_line;  // union of those of the lines (Lin 2004, section 3.2)
};

/// ROUGE (Lin, 2004) by the conventions of Google's rouge_score: letters a-z and digits make words,
/// all else separates them. All in [0, 1].
RougeScores rouge(std::string_view hypothesis, std::string_view reference, bool uses_stems);

/// Means over texts; of several references of a text each score takes the best.
class Rouge {
 public:
  explicit Rouge(bool uses_stems = false) : uses_stems_(uses_stems) {}
  void add(std::string_view hypothesis, const std::vector<std::string>& references);
  RougeScores mean() const;

 private:
  bool uses_stems_;
  int64_t texts_ = 0;
  RougeScores sums_;
};

}  // namespace weft::metrics
