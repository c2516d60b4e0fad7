#include "metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "metrics/item_records.h"

namespace weft::metrics {
namespace {

using BleuCounts = std::unordered_map<std::string, int64_t>;

/// Counts n-grams per order. Words contain no white space, so joining by a space is unambiguous.
std::array<BleuCounts, kBleuOrder> bleu_grams_of(const std::vector<std::string>& words) {
  std::array<BleuCounts, kBleuOrder> counts;
  for (std::size_t begin = 0; begin < words.size(); ++begin) {
    std::string ngram;
    for (std::size_t n = 0; n < kBleuOrder && begin + n < words.size(); ++n) {
      ngram += (n > 0 ? " " : "") + words[begin + n];
      ++counts[n][ngram];
    }
  }
  return counts;
}

std::vector<std::string> bleu_words_of(std::string_view line, const BleuOptions& options) {
  if (!options.is_lowercased) {
    return bleu_tokenize(line, options.tokenizer);
  }
  return bleu_tokenize(utf8::encode(python_lower(utf8::decode(line))), options.tokenizer);
}

double smoothing_value(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == BleuSmoothing::kFloor ? 0.1 : 1.0);
}

/// The part of the signature that the options determine.
std::string bleu_options_signature(const BleuOptions& options) {
  std::string smoothing;
  for (const auto& [word, value] : bleu_smoothings()) {
    smoothing = value == options.smoothing ? std::string(word) : smoothing;
  }
  if (options.smoothing == BleuSmoothing::kFloor || options.smoothing == BleuSmoothing::kAdd) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "[%.2f]", smoothing_value(options));
    smoothing += number.data();
  }
  return str_cat("case:", options.is_lowercased ? "lc" : "mixed",
                 "|eff:", options.has_effective_order ? "yes" : "no",
                 "|tok:", signature_of(options.tokenizer), "|smooth:", smoothing,
                 "|version:", kSacrebleuVersion);
}

}  // namespace

const std::vector<std::pair<std::string_view, BleuSmoothing>>& bleu_smoothings() {
  static const std::vector<std::pair<std::string_view, BleuSmoothing>> table{
      {"exp", BleuSmoothing::kExponential},
      {"floor", BleuSmoothing::kFloor},
      {"add-k", BleuSmoothing::kAdd},
      {"none", BleuSmoothing::kNone}};
  return table;
}

Bleu::Bleu(const BleuOptions& options)
    : options_(options), records_("bleu|" + bleu_options_signature(options)) {}

void Bleu::add(int64_t line,
               std::string_view hypothesis,
               const std::vector<std::string>& references) {
  BleuRecord record{.item = line, .references = static_cast<int64_t>(references.size())};
  const auto words = bleu_words_of(hypothesis, options_);
  const auto length = static_cast<int64_t>(words.size());
  std::array<BleuCounts, kBleuOrder> wanted;
  int64_t nearest = -1;
  for (const auto& reference : references) {
    const auto reference_words = bleu_words_of(reference, options_);
    const auto other = static_cast<int64_t>(reference_words.size());
    const auto gap = std::abs(length - other);
    const auto least = std::abs(length - nearest);
    if (nearest < 0 || gap < least || (gap == least && other < nearest)) {
      nearest = other;
    }
    const auto ngrams = bleu_grams_of(reference_words);
    for (std::size_t n = 0; n < kBleuOrder; ++n) {
      for (const auto& [ngram, count] : ngrams[n]) {
        auto& most = wanted[n][ngram];
        most = std::max(most, count);
      }
    }
  }
  const auto ngrams = bleu_grams_of(words);
  for (std::size_t n = 0; n < kBleuOrder; ++n) {
    for (const auto& [ngram, count] : ngrams[n]) {
      record.totals[n] += count;
      const auto found = wanted[n].find(ngram);
      record.matches[n] += found == wanted[n].end() ? 0 : std::min(count, found->second);
    }
  }
  record.length = length;
  record.reference_length = std::max<int64_t>(nearest, 0);
  records_.add(record);
}

BleuScore Bleu::score() const {
  const auto sum = records_.sum();
  BleuScore result{.length = sum.length, .reference_length = sum.reference_length};
  if (sum.length < sum.reference_length) {
    result.brevity_penalty = sum.length > 0
                                 ? std::exp(1 - static_cast<double>(sum.reference_length) /
                                                    static_cast<double>(sum.length))
                                 : 0.0;
  }
  if (sum.matches == decltype(sum.matches){}) {
    return result;
  }
  double halved = 1;
  std::size_t order = kBleuOrder;
  for (std::size_t n = 0; n < kBleuOrder; ++n) {
    const double added =
        options_.smoothing == BleuSmoothing::kAdd && n > 0 ? smoothing_value(options_) : 0;
    const double matches = static_cast<double>(sum.matches[n]) + added;
    const double total = static_cast<double>(sum.totals[n]) + added;
    if (total == 0) {
      break;
    }
    order = options_.has_effective_order ? n + 1 : order;
    if (matches > 0) {
      result.precisions[n] = 100 * matches / total;
    } else if (options_.smoothing == BleuSmoothing::kExponential) {
      halved *= 2;
      result.precisions[n] = 100 / (halved * total);
    } else if (options_.smoothing == BleuSmoothing::kFloor) {
      result.precisions[n] = 100 * smoothing_value(options_) / total;
    }
  }
  double logarithms = 0;
  for (std::size_t n = 0; n < order; ++n) {
    logarithms += result.precisions[n] > 0 ? std::log(result.precisions[n]) : -9999999999.0;
  }
  result.score = result.brevity_penalty * std::exp(logarithms / static_cast<double>(order));
  return result;
}

std::string Bleu::signature() const {
  return str_cat("nrefs:", number_of_references(records_.in_item_order()), "|",
                 bleu_options_signature(options_));
}

}  // namespace weft::metrics
