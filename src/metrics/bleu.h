#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/bleu_tokens.h"

namespace weft::metrics {

/// What stands for the precision of an n-gram order without a hit (Chen and Cherry, WMT 2014).
enum class BleuSmoothing {
  kExponential,  // 1/2, 1/4, ... of a hit, as in mteval-v13a
  kFloor,        // a small number of hits
  kAdd,          // added to hits and totals above single words
  kNone,         // nothing: the score is 0
};
/// `exp`, `floor`, `add-k`, `none`.
const std::vector<std::pair<std::string_view, BleuSmoothing>>& bleu_smoothings();

inline constexpr std::size_t kBleuOrder = 4;

struct BleuOptions {
  BleuTokens tokens = BleuTokens::k13a;
  BleuSmoothing smoothing = BleuSmoothing::kExponential;
  std::optional<double> smoothing_value = {};  // nothing: 0.1 of kFloor, 1 of kAdd
  bool is_lowercased = false;
  bool has_effective_order = false;  // orders longer than the line do not count: for single lines
};

struct BleuScore {
  double score = 0;  // in [0, 100]
  std::array<double, kBleuOrder> precisions{};
  double brevity_penalty = 1;
  int64_t length = 0;            // words of the hypotheses
  int64_t reference_length = 0;  // of the nearest references
};

/// BLEU (Papineni et al., ACL 2002) of lines added one by one, equal to sacreBLEU's.
class Bleu {
 public:
  explicit Bleu(const BleuOptions& options = {}) : options_(options) {}

  /// One or more references.
  void add(std::string_view hypothesis, const std::vector<std::string>& references);
  BleuScore score() const;
  /// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0`; the version is that of sacreBLEU
  /// whose figures these are.
  std::string signature() const;

 private:
  BleuOptions options_;
  int64_t references_ = 0;  // of each line; -1: of some more than of others
  int64_t length_ = 0;
  int64_t reference_length_ = 0;
  std::array<int64_t, kBleuOrder> hits_{};
  std::array<int64_t, kBleuOrder> totals_{};
};

/// The version of sacreBLEU that signatures name.
inline constexpr std::string_view kSacrebleuVersion = "2.6.0";

}  // namespace weft::metrics
