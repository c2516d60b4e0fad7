#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "metrics/bleu_tokenizer.h"
#include "metrics/item_records.h"

namespace weft::metrics {

/// Smoothing of the precision of an n-gram order without matches (Chen and Cherry, WMT 2014).
enum class BleuSmoothing {
  kExponential,  // 1/2, 1/4, ... of a match, as in mteval-v13a
  kFloor,        // a small constant instead of 0 matches
  kAdd,          // a constant added to matches and totals of orders above 1
  kNone,         // no smoothing: the score is 0
};
/// `exp`, `floor`, `add-k`, `none`.
const std::vector<std::pair<std::string_view, BleuSmoothing>>& bleu_smoothings();

inline constexpr std::size_t kBleuOrder = 4;

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  BleuSmoothing smoothing = BleuSmoothing::kExponential;
  std::optional<double> smoothing_value = {};  // nullopt: 0.1 for kFloor, 1 for kAdd
  bool is_lowercased = false;
  bool has_effective_order = false;  // ignores orders longer than the line; for sentence BLEU
};

struct BleuScore {
  double score = 0;  // in [0, 100]
  std::array<double, kBleuOrder> precisions{};
  double brevity_penalty = 1;
  int64_t length = 0;            // words in the hypotheses
  int64_t reference_length = 0;  // words in the references closest in length
};

/// Counts of one line.
struct BleuRecord {
  int64_t item = 0;
  int64_t references = 0;
  int64_t length = 0;            // words of the hypothesis
  int64_t reference_length = 0;  // words of the reference closest in length
  std::array<int64_t, kBleuOrder> matches{};
  std::array<int64_t, kBleuOrder> totals{};

  static constexpr auto kFields = std::tuple(&BleuRecord::references,
                                             &BleuRecord::length,
                                             &BleuRecord::reference_length,
                                             &BleuRecord::matches,
                                             &BleuRecord::totals);
};

/// Corpus BLEU (Papineni et al., ACL 2002), accumulated line by line; equal to sacreBLEU.
class Bleu {
 public:
  explicit Bleu(const BleuOptions& options = {});

  /// Adds a line with one or more references.
  void add(int64_t line, std::string_view hypothesis, const std::vector<std::string>& references);
  BleuScore score() const;
  /// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0`, where the version is that of the
  /// sacreBLEU with equal scores.
  std::string signature() const;

  /// As those of ItemRecords; only lines scored with equal options are merged.
  std::string serialize() const { return records_.serialize(); }
  void merge(std::string_view serialized) { records_.merge(serialized); }

 private:
  BleuOptions options_;
  ItemRecords<BleuRecord> records_;
};

/// sacreBLEU version given in signatures.
inline constexpr std::string_view kSacrebleuVersion = "2.6.0";

}  // namespace weft::metrics
