#include "data/datasets/masking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/string_util.h"
#include "data/error.h"

namespace weft::data {
namespace {

double truncated_geometric_mean(double p, int64_t longest) {
  double mean = 0;
  double total = 0;
  double weight = 1;
  for (int64_t length = 1; length <= longest; ++length) {
    mean += weight * static_cast<double>(length);
    total += weight;
    weight *= 1 - p;
  }
  return mean / total;
}

/// CDF of the geometric distribution truncated at `longest` with this mean (p = 0.2 for SpanBERT's
/// 3.8 words).
std::vector<double> span_length_cdf(double mean, int64_t longest) {
  if (longest < 1 || mean < 1 || mean > (static_cast<double>(longest) + 1) / 2) {
    throw Error(str_cat("objective.mean_span: ", mean,
                        " words, must be between 1 and half of max_span + 1 (",
                        (static_cast<double>(longest) + 1) / 2, ")"));
  }
  double low = 0;  // the larger p, the smaller the mean
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (truncated_geometric_mean(middle, longest) > mean ? low : high) = middle;
  }
  std::vector<double> cdf;
  double weight = 1;
  double total = 0;
  for (int64_t length = 1; length <= longest; ++length) {
    total += weight;
    cdf.push_back(total);
    weight *= 1 - high;
  }
  for (double& value : cdf) {
    value /= total;
  }
  return cdf;
}

template <class Value>
void shuffle(std::vector<Value>& values, Random& random) {
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[random.uniform_int(left)]);
  }
}

}  // namespace

Masker::Masker(const Tokenizer& tokenizer, const MaskOptions& options)
    : options_(options), mask_id_(tokenizer.special_token_ids().mask) {
  if (mask_id_ < 0) {
    throw Error("tokenizer: it has no mask token, which masked language modelling requires");
  }
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    is_special_.push_back(tokenizer.is_special(id) ? 1 : 0);
    continues_word_.push_back(tokenizer.continues_word(id) ? 1 : 0);
    if (is_special_.back() == 0) {
      random_token_ids_.push_back(id);
    }
  }
  if (random_token_ids_.empty()) {
    throw Error("tokenizer: all of its tokens are special tokens, no token can be masked");
  }
  if (options_.unit == MaskUnit::kSpan) {
    span_length_cdf_ = span_length_cdf(options_.mean_span, options_.max_span);
  }
}

void Masker::mask(Example& example, uint64_t seed, int64_t epoch, int64_t item) const {
  Random random(seed, RandomPurpose::kMask, options_.is_static ? 0 : static_cast<uint64_t>(epoch),
                static_cast<uint64_t>(item));
  Selection selection;
  switch (options_.unit) {
    case MaskUnit::kToken:
      selection = select_tokens(example.ids, random);
      break;
    case MaskUnit::kWord:
      selection = select_words(example.ids, random);
      break;
    case MaskUnit::kSpan:
      selection = select_spans(example.ids, random);
      break;
  }
  std::sort(selection.begin(), selection.end(),
            [](const Word& a, const Word& b) { return a.begin < b.begin; });
  replace(example, selection, random);
}

int64_t Masker::mask_count(int64_t candidates) const {
  const auto count = std::llround(options_.fraction * static_cast<double>(candidates));
  return std::min<int64_t>(candidates, std::max<int64_t>(1, count));
}

Masker::Selection Masker::select_tokens(const std::vector<int64_t>& ids, Random& random) const {
  std::vector<int64_t> candidates;
  candidates.reserve(ids.size());
  for (std::size_t position = 0; position < ids.size(); ++position) {
    if (is_special_[static_cast<std::size_t>(ids[position])] == 0) {
      candidates.push_back(static_cast<int64_t>(position));
    }
  }
  const auto count = static_cast<std::size_t>(mask_count(static_cast<int64_t>(candidates.size())));
  Selection selection;
  selection.reserve(count);
  draw_to_front(candidates, count, random);
  for (std::size_t i = 0; i < count; ++i) {
    selection.push_back({candidates[i], candidates[i] + 1});
  }
  return selection;
}

std::vector<Masker::Word> Masker::words(const std::vector<int64_t>& ids) const {
  std::vector<Word> found;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    const auto position = static_cast<int64_t>(i);
    if (is_special_[id] != 0) {
      continue;
    }
    if (continues_word_[id] != 0 && !found.empty() && found.back().end == position) {
      ++found.back().end;
    } else {
      found.push_back({position, position + 1});
    }
  }
  return found;
}

Masker::Selection Masker::select_words(const std::vector<int64_t>& ids, Random& random) const {
  std::vector<Word> all = words(ids);
  int64_t candidates = 0;
  for (const Word& word : all) {
    candidates += word.end - word.begin;
  }
  int64_t left = mask_count(candidates);
  shuffle(all, random);
  Selection selection;
  for (const Word& word : all) {
    const int64_t length = word.end - word.begin;
    if (length <= left) {
      selection.push_back(word);
      left -= length;
    }
    if (left == 0) {
      break;
    }
  }
  if (selection.empty() && !all.empty()) {
    selection.push_back(all.front());
  }
  // Each token of a word gets its own replacement, as in BERT's whole-word masking.
  Selection tokens;
  for (const Word& word : selection) {
    for (int64_t position = word.begin; position < word.end; ++position) {
      tokens.push_back({position, position + 1});
    }
  }
  return tokens;
}

int64_t Masker::span_length(Random& random) const {
  const double sample = random.uniform_double();
  const auto at = std::upper_bound(span_length_cdf_.begin(), span_length_cdf_.end(), sample);
  return std::min<int64_t>(at - span_length_cdf_.begin() + 1, options_.max_span);
}

Masker::Selection Masker::select_spans(const std::vector<int64_t>& ids, Random& random) const {
  const std::vector<Word> all = words(ids);
  int64_t candidates = 0;
  for (const Word& word : all) {
    candidates += word.end - word.begin;
  }
  int64_t left = mask_count(candidates);
  // Visiting words in random order and skipping masked ones samples uniformly from the unmasked
  // words, and terminates whatever the word lengths.
  std::vector<std::size_t> anchors(all.size());
  std::iota(anchors.begin(), anchors.end(), std::size_t{0});
  shuffle(anchors, random);
  std::vector<uint8_t> is_masked(all.size(), 0);
  Selection selection;
  for (const std::size_t anchor : anchors) {
    if (left == 0) {
      break;
    }
    const auto most = static_cast<std::size_t>(span_length(random));
    Word span{all[anchor].begin, all[anchor].begin};
    for (std::size_t word = anchor; word < all.size() && word < anchor + most; ++word) {
      const int64_t length = all[word].end - all[word].begin;
      if (is_masked[word] != 0 || all[word].begin != span.end || length > left) {
        break;
      }
      is_masked[word] = 1;
      span.end = all[word].end;
      left -= length;
    }
    if (span.end > span.begin) {
      selection.push_back(span);
    }
  }
  if (selection.empty() && !all.empty()) {
    selection.push_back(all[anchors.front()]);
  }
  return selection;
}

void Masker::replace(Example& example, const Selection& selection, Random& random) const {
  example.target_positions.clear();
  example.targets.clear();
  for (const Word& run : selection) {
    const double sample = random.uniform_double();
    for (int64_t position = run.begin; position < run.end; ++position) {
      int64_t& id = example.ids[static_cast<std::size_t>(position)];
      example.target_positions.push_back(position);
      example.targets.push_back(id);
      if (sample < options_.mask_token_prob) {
        id = mask_id_;
      } else if (sample < options_.mask_token_prob + options_.random_token_prob) {
        id = random_token_ids_[random.uniform_int(random_token_ids_.size())];
      }
    }
  }
}

}  // namespace weft::data
