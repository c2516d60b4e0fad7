#include "metrics/rouge.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/character_kind.h"
#include "base/text.h"
#include "base/utf8.h"
#include "metrics/metrics.h"
#include "metrics/porter_stemmer.h"

namespace weft::metrics {
namespace {

using Words = std::vector<std::string>;
using RougeCounts = std::unordered_map<std::string, int64_t>;

constexpr std::size_t kStemmedFrom = 4;  // letters; shorter words stay as they are

Words rouge_words_of(std::string_view raw, bool uses_stems) {
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
  if (uses_stems) {
    for (auto& word : words) {
      word = word.size() >= kStemmedFrom ? porter_stem(word) : word;
    }
  }
  return words;
}

RougeScore score_of(double hits, double found, double wanted) {
  RougeScore score{.precision = quotient(hits, found), .recall = quotient(hits, wanted)};
  score.f1 = quotient(2 * score.precision * score.recall, score.precision + score.recall);
  return score;
}

RougeCounts rouge_grams_of(const Words& words, std::size_t order) {
  RougeCounts counts;
  for (std::size_t i = 0; i + order <= words.size(); ++i) {
    std::string gram = words[i];
    for (std::size_t n = 1; n < order; ++n) {
      gram += " " + words[i + n];
    }
    ++counts[gram];
  }
  return counts;
}

int64_t rouge_sum_of(const RougeCounts& counts) {
  int64_t sum = 0;
  for (const auto& [gram, count] : counts) {
    sum += count;
  }
  return sum;
}

RougeScore by_grams(const Words& found, const Words& wanted, std::size_t order) {
  const auto left = rouge_grams_of(found, order);
  const auto right = rouge_grams_of(wanted, order);
  int64_t hits = 0;
  for (const auto& [gram, count] : right) {
    const auto at = left.find(gram);
    hits += at == left.end() ? 0 : std::min(count, at->second);
  }
  return score_of(static_cast<double>(hits), static_cast<double>(rouge_sum_of(left)),
                  static_cast<double>(rouge_sum_of(right)));
}

/// Lengths of the longest common subsequences of all beginnings: (reference + 1, found + 1).
std::vector<std::vector<int64_t>> common_table(const Words& wanted, const Words& found) {
  std::vector<std::vector<int64_t>> table(wanted.size() + 1,
                                          std::vector<int64_t>(found.size() + 1, 0));
  for (std::size_t i = 1; i <= wanted.size(); ++i) {
    for (std::size_t j = 1; j <= found.size(); ++j) {
      table[i][j] = wanted[i - 1] == found[j - 1] ? table[i - 1][j - 1] + 1
                                                  : std::max(table[i - 1][j], table[i][j - 1]);
    }
  }
  return table;
}

RougeScore by_longest(const Words& found, const Words& wanted) {
  if (found.empty() || wanted.empty()) {
    return {};
  }
  return score_of(static_cast<double>(common_table(wanted, found).back().back()),
                  static_cast<double>(found.size()), static_cast<double>(wanted.size()));
}

/// Places in the reference of one longest common subsequence, into `places`.
void add_common(const Words& wanted, const Words& found, std::set<std::size_t>& places) {
  const auto table = common_table(wanted, found);
  std::size_t i = wanted.size();
  std::size_t j = found.size();
  while (i > 0 && j > 0) {
    if (wanted[i - 1] == found[j - 1]) {
      places.insert(i - 1);
      --i;
      --j;
    } else if (table[i][j - 1] > table[i - 1][j]) {
      --j;
    } else {
      --i;
    }
  }
}

std::vector<Words> lines_of(std::string_view raw, bool uses_stems) {
  std::vector<Words> lines;
  for (const auto line : split(raw, '\n')) {
    if (!line.empty()) {
      lines.push_back(rouge_words_of(line, uses_stems));
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

RougeScore by_lines(const std::vector<Words>& found, const std::vector<Words>& wanted) {
  auto left = counts_of(found);
  auto right = counts_of(wanted);
  const auto found_words = rouge_sum_of(left);
  const auto wanted_words = rouge_sum_of(right);
  int64_t hits = 0;
  for (const auto& line : wanted) {
    std::set<std::size_t> places;
    for (const auto& other : found) {
      add_common(line, other, places);
    }
    for (const auto place : places) {
      const auto& word = line[place];
      if (left[word] > 0 && right[word] > 0) {  // each word of either side is hit once
        ++hits;
        --left[word];
        --right[word];
      }
    }
  }
  return score_of(static_cast<double>(hits), static_cast<double>(found_words),
                  static_cast<double>(wanted_words));
}

template <class Change>
void for_each_score(RougeScores& scores, const Change& change) {
  change(scores.one, &RougeScores::one);
  change(scores.two, &RougeScores::two);
  change(scores.longest, &RougeScores::longest);
  change(scores.longest_by_line, &RougeScores::longest_by_line);
}

}  // namespace

RougeScores rouge(std::string_view hypothesis, std::string_view reference, bool uses_stems) {
  const auto found = rouge_words_of(hypothesis, uses_stems);
  const auto wanted = rouge_words_of(reference, uses_stems);
  return {.one = by_grams(found, wanted, 1),
          .two = by_grams(found, wanted, 2),
          .longest = by_longest(found, wanted),
          .longest_by_line =
              by_lines(lines_of(hypothesis, uses_stems), lines_of(reference, uses_stems))};
}

void Rouge::add(std::string_view hypothesis, const std::vector<std::string>& references) {
  std::vector<RougeScores> all;
  for (const auto& reference : references) {
    all.push_back(rouge(hypothesis, reference, uses_stems_));
  }
  ++texts_;
  for_each_score(sums_, [&](RougeScore& sum, auto member) {
    const auto best = std::max_element(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return (a.*member).f1 < (b.*member).f1;
    });
    if (best != all.end()) {
      sum.precision += ((*best).*member).precision;
      sum.recall += ((*best).*member).recall;
      sum.f1 += ((*best).*member).f1;
    }
  });
}

RougeScores Rouge::mean() const {
  RougeScores result = sums_;
  const auto texts = static_cast<double>(texts_);
  for_each_score(result, [&](RougeScore& score, auto) {
    score.precision = quotient(score.precision, texts);
    score.recall = quotient(score.recall, texts);
    score.f1 = quotient(score.f1, texts);
  });
  return result;
}

}  // namespace weft::metrics
