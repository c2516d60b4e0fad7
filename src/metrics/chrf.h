#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "metrics/item_records.h"

namespace weft::metrics {

struct ChrfOptions {
  int64_t character_order = 6;
  int64_t word_order = 0;  // 2: chrF++
  double beta = 2;         // weight of recall
  bool is_lowercased = false;
  bool keeps_whitespace = false;
};

/// Counts of one line, by n-gram order.
struct ChrfRecord {
  int64_t item = 0;
  int64_t references = 0;
  std::vector<int64_t> hypothesis_ngrams = {};
  std::vector<int64_t> reference_ngrams = {};
  std::vector<int64_t> common = {};

  static constexpr auto kFields = std::tuple(&ChrfRecord::references,
                                             &ChrfRecord::hypothesis_ngrams,
                                             &ChrfRecord::reference_ngrams,
                                             &ChrfRecord::common);
};

/// chrF (Popovic, WMT 2015; with words WMT 2017), accumulated line by line; equal to sacreBLEU.
class Chrf {
 public:
  explicit Chrf(const ChrfOptions& options = {});

  /// Adds a line; of several references, the one with the best score counts.
  void add(int64_t line, std::string_view hypothesis, const std::vector<std::string>& references);
  double score() const;  // in [0, 100]
  /// `nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0`
  std::string signature() const;
  /// `chrF2`, `chrF2++`
  std::string name() const;

  /// As those of ItemRecords; only lines scored with equal options are merged.
  std::string serialize() const { return records_.serialize(); }
  void merge(std::string_view serialized) { records_.merge(serialized); }

 private:
  ChrfRecord compare(const std::u32string& hypothesis, const std::u32string& reference) const;
  double score_of(const ChrfRecord& record) const;
  std::string options_signature() const;

  ChrfOptions options_;
  ItemRecords<ChrfRecord> records_;
};

}  // namespace weft::metrics
