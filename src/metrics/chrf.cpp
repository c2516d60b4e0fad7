#include "metrics/chrf.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "metrics/bleu.h"
#include "metrics/item_records.h"

namespace weft::metrics {
namespace {

using ChrfText = std::u32string;
using ChrfCounts = std::unordered_map<std::u32string, int64_t>;

constexpr std::u32string_view kPunctuation = U"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// Splits into words; one punctuation character at the end or start is a word of its own.
std::vector<ChrfText> chrf_words_of(const ChrfText& line) {
  std::vector<ChrfText> words;
  for (auto& word : split_at_space(line)) {
    const auto is_punctuation = [](char32_t code) {
      return kPunctuation.find(code) != kPunctuation.npos;
    };
    if (word.size() > 1 && is_punctuation(word.back())) {
      words.push_back(word.substr(0, word.size() - 1));
      words.push_back(word.substr(word.size() - 1));
    } else if (word.size() > 1 && is_punctuation(word.front())) {
      words.push_back(word.substr(0, 1));
      words.push_back(word.substr(1));
    } else {
      words.push_back(std::move(word));
    }
  }
  return words;
}

ChrfText characters_of(const ChrfText& line, bool keeps_whitespace) {
  ChrfText result;
  for (const auto code : line) {
    if (keeps_whitespace || !is_python_space(code)) {
      result += code;
    }
  }
  return result;
}

ChrfCounts character_ngrams(const ChrfText& text, std::size_t order) {
  ChrfCounts counts;
  for (std::size_t i = 0; i + order <= text.size(); ++i) {
    ++counts[text.substr(i, order)];
  }
  return counts;
}

ChrfCounts word_ngrams(const std::vector<ChrfText>& words, std::size_t order) {
  ChrfCounts counts;
  for (std::size_t i = 0; i + order <= words.size(); ++i) {
    ChrfText ngram = words[i];
    for (std::size_t n = 1; n < order; ++n) {
      ngram += U' ' + words[i + n];
    }
    ++counts[ngram];
  }
  return counts;
}

}  // namespace

Chrf::Chrf(const ChrfOptions& options)
    : options_(options), records_(str_cat("chrf|", options.beta, "|", options_signature())) {}

ChrfRecord Chrf::compare(const ChrfText& hypothesis, const ChrfText& reference) const {
  ChrfRecord result;
  const auto compare_counts = [&](const ChrfCounts& hypothesis_counts,
                                  const ChrfCounts& reference_counts) {
    int64_t hypothesis_ngrams = 0;
    int64_t reference_ngrams = 0;
    int64_t common = 0;
    for (const auto& [ngram, count] : hypothesis_counts) {
      hypothesis_ngrams +=
          reference_counts.empty() ? 0 : count;  // ignored if the reference has none
      const auto at = reference_counts.find(ngram);
      common += at == reference_counts.end() ? 0 : std::min(count, at->second);
    }
    for (const auto& [ngram, count] : reference_counts) {
      reference_ngrams += count;
    }
    result.hypothesis_ngrams.push_back(hypothesis_ngrams);
    result.reference_ngrams.push_back(reference_ngrams);
    result.common.push_back(common);
  };
  const auto left = characters_of(hypothesis, options_.keeps_whitespace);
  const auto right = characters_of(reference, options_.keeps_whitespace);
  for (int64_t n = 1; n <= options_.character_order; ++n) {
    const auto order = static_cast<std::size_t>(n);
    compare_counts(character_ngrams(left, order), character_ngrams(right, order));
  }
  if (options_.word_order > 0) {
    const auto left_words = chrf_words_of(hypothesis);
    const auto right_words = chrf_words_of(reference);
    for (int64_t n = 1; n <= options_.word_order; ++n) {
      const auto order = static_cast<std::size_t>(n);
      compare_counts(word_ngrams(left_words, order), word_ngrams(right_words, order));
    }
  }
  return result;
}

double Chrf::score_of(const ChrfRecord& record) const {
  double precision = 0;
  double recall = 0;
  int64_t orders = 0;  // orders with n-grams on both sides
  for (std::size_t n = 0; n < record.common.size(); ++n) {
    if (record.hypothesis_ngrams[n] > 0 && record.reference_ngrams[n] > 0) {
      const auto common = static_cast<double>(record.common[n]);
      precision += common / static_cast<double>(record.hypothesis_ngrams[n]);
      recall += common / static_cast<double>(record.reference_ngrams[n]);
      ++orders;
    }
  }
  if (orders == 0 || precision + recall == 0) {
    return 0;
  }
  precision /= static_cast<double>(orders);
  recall /= static_cast<double>(orders);
  const double factor = options_.beta * options_.beta;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

void Chrf::add(int64_t line,
               std::string_view hypothesis,
               const std::vector<std::string>& references) {
  const auto read = [&](std::string_view text) {
    const auto decoded = utf8::decode(text);
    return options_.is_lowercased ? python_lower(decoded) : decoded;
  };
  const auto left = read(hypothesis);
  ChrfRecord best;
  double best_score = -1;
  for (const auto& reference : references) {
    auto record = compare(left, read(reference));
    if (const double score = score_of(record); score > best_score) {
      best_score = score;
      best = std::move(record);
    }
  }
  best.item = line;
  best.references = static_cast<int64_t>(references.size());
  records_.add(std::move(best));
}

double Chrf::score() const { return score_of(records_.sum()); }

std::string Chrf::options_signature() const {
  return str_cat("case:", options_.is_lowercased ? "lc" : "mixed",
                 "|eff:yes|nc:", options_.character_order, "|nw:", options_.word_order,
                 "|space:", options_.keeps_whitespace ? "yes" : "no",
                 "|version:", kSacrebleuVersion);
}

std::string Chrf::signature() const {
  return str_cat("nrefs:", number_of_references(records_.in_item_order()), "|",
                 options_signature());
}

std::string Chrf::name() const {
  return str_cat("chrF", options_.beta) +
         std::string(static_cast<std::size_t>(options_.word_order), '+');
}

}  // namespace weft::metrics
