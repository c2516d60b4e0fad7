#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/bleu_tokenizer.h"

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

/// Corpus BLEU (Papineni et al., ACL 2002), accumulated line by line; equal to sacreBLEU.
class Bleu {
 public:
  explicit Bleu(const BleuOptions& options = {}) : options_(options) {}

  /// Adds a line with one or more references.
  void add(std::string_view hypothesis, const std::vector<std::string>& references);
  BleuScore score() const;
  /// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0`, where the version is that of the
  /// sacreBLEU with equal scores.
  std::string signature() const;

 private:
  BleuOptions options_;
  int64_t references_ = 0;  // references per line; -1: varies
  int64_t length_ = 0;
  int64_t reference_length_ = 0;
  std::array<int64_t, kBleuOrder> matches_{};
  std::array<int64_t, kBleuOrder> totals_{};
};

/// sacreBLEU version given in signatures.
inline constexpr std::string_view kSacrebleuVersion = "2.6.0";

}  // namespace weft::metrics
