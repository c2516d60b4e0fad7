#include "metrics/rouge.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/codepoints.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "metrics/metrics.h"

namespace weft::metrics {
namespace {

using Words = std::vector<std::string>;
using RougeCounts = std::unordered_map<std::string, int64_t>;

constexpr std::size_t kMinStemLength = 4;  // letters; shorter words are not stemmed

Words rouge_words_of(std::string_view raw, bool use_stemmer) {
  Words words;
  bool is_open = false;
  for (const auto code : python_lower(utf8::decode(raw))) {
    const bool belongs = (code >= U'a' && code <= U'z') || (code >= U'0' && code <= U'9');
    if (belongs && !is_open) {
      words.emplace_back();
    }
    is_open = belongs;
    if (belongs) {
      words.back() += static_cast<char>(code);
    }
  }
  if (use_stemmer) {
    for (auto& word : words) {
      word = word.size() >= kMinStemLength ? porter_stem(word) : word;
    }
  }
  return words;
}

RougeScore score_of(double matches, double hypothesis, double reference) {
  RougeScore score{.precision = safe_divide(matches, hypothesis),
                   .recall = safe_divide(matches, reference)};
  score.f1 = safe_divide(2 * score.precision * score.recall, score.precision + score.recall);
  return score;
}

RougeCounts rouge_grams_of(const Words& words, std::size_t order) {
  RougeCounts counts;
  for (std::size_t i = 0; i + order <= words.size(); ++i) {
    std::string ngram = words[i];
    for (std::size_t n = 1; n < order; ++n) {
      ngram += " " + words[i + n];
    }
    ++counts[ngram];
  }
  return counts;
}

int64_t rouge_sum_of(const RougeCounts& counts) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : counts) {
    sum += count;
  }
  return sum;
}

RougeScore rouge_n(const Words& hypothesis, const Words& reference, std::size_t order) {
  const auto left = rouge_grams_of(hypothesis, order);
  const auto right = rouge_grams_of(reference, order);
  int64_t matches = 0;
  for (const auto& [ngram, count] : right) {
    const auto at = left.find(ngram);
    matches += at == left.end() ? 0 : std::min(count, at->second);
  }
  return score_of(static_cast<double>(matches), static_cast<double>(rouge_sum_of(left)),
                  static_cast<double>(rouge_sum_of(right)));
}

/// LCS lengths of all pairs of prefixes: (reference + 1, hypothesis + 1).
std::vector<std::vector<int64_t>> lcs_table(const Words& reference, const Words& hypothesis) {
  std::vector<std::vector<int64_t>> table(reference.size() + 1,
                                          std::vector<int64_t>(hypothesis.size() + 1, 0));
  for (std::size_t i = 1; i <= reference.size(); ++i) {
    for (std::size_t j = 1; j <= hypothesis.size(); ++j) {
      table[i][j] = reference[i - 1] == hypothesis[j - 1]
                        ? table[i - 1][j - 1] + 1
                        : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  return table;
}

RougeScore rouge_l(const Words& hypothesis, const Words& reference) {
  if (hypothesis.empty() || reference.empty()) {
    return {};
  }
  return score_of(static_cast<double>(lcs_table(reference, hypothesis).back().back()),
                  static_cast<double>(hypothesis.size()), static_cast<double>(reference.size()));
}

/// Adds the reference positions of one LCS to `positions`.
void add_lcs_positions(const Words& reference,
                       const Words& hypothesis,
                       std::set<std::size_t>& positions) {
  const auto table = lcs_table(reference, hypothesis);
  std::size_t i = reference.size();
  std::size_t j = hypothesis.size();
  while (i > 0 && j > 0) {
    if (reference[i - 1] == hypothesis[j - 1]) {
      positions.insert(i - 1);
      --i;
      --j;
    } else if (table[i][j - 1] > table[i - 1][j]) {
      --j;
    } else {
      --i;
    }
  }
}

std::vector<Words> lines_of(std::string_view raw, bool use_stemmer) {
  std::vector<Words> lines;
  for (const auto line : split(raw, '\n')) {
    if (!line.empty()) {
      lines.push_back(rouge_words_of(line, use_stemmer));
    }
  }
  return lines;
}

RougeCounts counts_of(const std::vector<Words>& lines) {
  RougeCounts counts;
  for (const auto& line : lines) {
    for (const auto& word : line) {
      ++counts[word];
    }
  }
  return counts;
}

RougeScore rouge_lsum(const std::vector<Words>& hypothesis, const std::vector<Words>& reference) {
  auto left = counts_of(hypothesis);
  auto right = counts_of(reference);
  const auto hypothesis_words = rouge_sum_of(left);
  const auto reference_words = rouge_sum_of(right);
  int64_t matches = 0;
  for (const auto& line : reference) {
    std::set<std::size_t> positions;
    for (const auto& other : hypothesis) {
      add_lcs_positions(line, other, positions);
    }
    for (const auto index : positions) {
      const auto& word = line[index];
      if (left[word] > 0 && right[word] > 0) {  // each word of either side is matched once
        ++matches;
        --left[word];
        --right[word];
      }
    }
  }
  return score_of(static_cast<double>(matches), static_cast<double>(hypothesis_words),
                  static_cast<double>(reference_words));
}

}  // namespace

RougeScores rouge(std::string_view hypothesis, std::string_view reference, bool use_stemmer) {
  const auto hypothesis_words = rouge_words_of(hypothesis, use_stemmer);
  const auto reference_words = rouge_words_of(reference, use_stemmer);
  return {.rouge_1 = rouge_n(hypothesis_words, reference_words, 1),
          .rouge_2 = rouge_n(hypothesis_words, reference_words, 2),
          .rouge_l = rouge_l(hypothesis_words, reference_words),
          .rouge_lsum =
              rouge_lsum(lines_of(hypothesis, use_stemmer), lines_of(reference, use_stemmer))};
}

void Rouge::add(int64_t line,
                std::string_view hypothesis,
                const std::vector<std::string>& references) {
  RougeRecord best;
  best.item = line;
  for (const auto& reference : references) {
    const auto scores = rouge(hypothesis, reference, use_stemmer_);
    const auto keep_better = [&](const auto member) {
      if ((scores.*member).f1 > (best.*member).f1) {
        best.*member = scores.*member;
      }
    };
    std::apply([&](const auto... members) { (keep_better(members), ...); }, RougeScores::kFields);
  }
  records_.add(best);
}

RougeScores Rouge::mean() const {
  RougeScores mean = records_.sum();
  const auto texts = static_cast<double>(records_.size());
  formats::visit_fields(mean, [&](RougeScore& score) {
    formats::visit_fields(score, [&](double& value) { value = safe_divide(value, texts); });
  });
  return mean;
}

}  // namespace weft::metrics
