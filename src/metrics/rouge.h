#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "metrics/item_records.h"

namespace weft::metrics {

struct RougeScore {
  double precision = 0;
  double recall = 0;
  double f1 = 0;

  static constexpr auto kFields =
      std::tuple(&RougeScore::precision, &RougeScore::recall, &RougeScore::f1);
};

/// ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum of one text.
struct RougeScores {
  RougeScore rouge_1;
  RougeScore rouge_2;
  RougeScore rouge_l;     // longest common subsequence (LCS) of the texts
  RougeScore rouge_lsum;  // union of the LCS of the lines (Lin 2004, section 3.2)

  static constexpr auto kFields = std::tuple(&RougeScores::rouge_1,
                                             &RougeScores::rouge_2,
                                             &RougeScores::rouge_l,
                                             &RougeScores::rouge_lsum);
};

/// Scores of the line `item`.
struct RougeRecord : RougeScores {
  int64_t item = 0;
};

/// ROUGE (Lin, 2004) as in Google's rouge_score: words consist of letters a-z and digits,
/// everything else separates them. All scores are in [0, 1].
RougeScores rouge(std::string_view hypothesis, std::string_view reference, bool use_stemmer);

/// Means over texts; with several references, each score uses its best one.
class Rouge {
 public:
  explicit Rouge(bool use_stemmer = false)
      : use_stemmer_(use_stemmer), records_(use_stemmer ? "rouge|stems" : "rouge|words") {}
  void add(int64_t line, std::string_view hypothesis, const std::vector<std::string>& references);
  RougeScores mean() const;

  /// As those of ItemRecords; only texts scored with the same option are merged.
  std::string serialize() const { return records_.serialize(); }
  void merge(std::string_view serialized) { records_.merge(serialized); }

 private:
  bool use_stemmer_;
  ItemRecords<RougeRecord> records_;
};

/// Returns the stem of a lower-case English word (Porter, "An algorithm for suffix stripping",
/// 1980), with NLTK's extensions, as in other ROUGE implementations.
std::string porter_stem(std::string_view word);

}  // namespace weft::metrics
