#include "data/datasets/masking.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "data/error.h"

namespace weft::data {
namespace {

double truncated_mean(double p, int64_t longest) {
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

/// Distribution function of the geometric law, cut at `longest`, that has this mean (0.2 for
/// SpanBERT's 3.8 words).
std::vector<double> span_distribution(double mean, int64_t longest) {
  if (longest < 1 || mean < 1 || mean > (static_cast<double>(longest) + 1) / 2) {
    throw Error(text("objective.span_mean: ", mean,
                     " words, must be from 1 to half of span_longest + 1 (",
                     (static_cast<double>(longest) + 1) / 2, ")"));
  }
  double low = 0;  // the larger p, the smaller the mean
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (truncated_mean(middle, longest) > mean ? low : high) = middle;
  }
  std::vector<double> cumulated;
  double weight = 1;
  double total = 0;
  for (int64_t length = 1; length <= longest; ++length) {
    total += weight;
    cumulated.push_back(total);
    weight *= 1 - high;
  }
  for (double& value : cumulated) {
    value /= total;
  }
  return cumulated;
}

template <class Value>
void shuffle(std::vector<Value>& values, Random& random) {
  for (std::size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[random.below(left)]);
  }
}

}  // namespace

Masker::Masker(const Tokenizer& tokenizer, const MaskOptions& options)
    : options_(options), mask_id_(tokenizer.special().mask) {
  if (mask_id_ < 0) {
    throw Error("tokenizer: it has no mask token, masked language modelling needs one");
  }
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    is_special_.push_back(tokenizer.is_special(id) ? 1 : 0);
    continues_word_.push_back(tokenizer.continues_word(id) ? 1 : 0);
    if (is_special_.back() == 0) {
      drawable_.push_back(id);
    }
  }
  if (drawable_.empty()) {
    throw Error("tokenizer: all of its tokens are special, nothing can be masked");
  }
  if (options_.unit == MaskUnit::kSpan) {
    span_cumulated_ = span_distribution(options_.span_mean, options_.span_longest);
  }
}

void Masker::mask(Example& example, uint64_t seed, int64_t epoch, int64_t item) const {
  Random random(seed, Purpose::kMask, options_.is_static ? 0 : static_cast<uint64_t>(epoch),
                static_cast<uint64_t>(item));
  Chosen chosen;
  switch (options_.unit) {
    case MaskUnit::kToken:
      chosen = choose_tokens(example.ids, random);
      break;
    case MaskUnit::kWord:
      chosen = choose_words(example.ids, random);
      break;
    case MaskUnit::kSpan:
      chosen = choose_spans(example.ids, random);
      break;
  }
  std::sort(chosen.begin(), chosen.end(),
            [](const Word& a, const Word& b) { return a.begin < b.begin; });
  replace(example, chosen, random);
}

int64_t Masker::wanted(int64_t candidates) const {
  const auto share = std::llround(options_.fraction * static_cast<double>(candidates));
  return std::min<int64_t>(candidates, std::max<int64_t>(1, share));
}

Masker::Chosen Masker::choose_tokens(const std::vector<int64_t>& ids, Random& random) const {
  std::vector<int64_t> candidates;
  candidates.reserve(ids.size());
  for (std::size_t position = 0; position < ids.size(); ++position) {
    if (is_special_[static_cast<std::size_t>(ids[position])] == 0) {
      candidates.push_back(static_cast<int64_t>(position));
    }
  }
  const auto count = static_cast<std::size_t>(wanted(static_cast<int64_t>(candidates.size())));
  Chosen chosen;
  chosen.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {  // the first steps of a Fisher-Yates shuffle
    std::swap(candidates[i], candidates[i + random.below(candidates.size() - i)]);
    chosen.push_back({candidates[i], candidates[i] + 1});
  }
  return chosen;
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

Masker::Chosen Masker::choose_words(const std::vector<int64_t>& ids, Random& random) const {
  std::vector<Word> all = words(ids);
  int64_t candidates = 0;
  for (const Word& word : all) {
    candidates += word.end - word.begin;
  }
  int64_t left = wanted(candidates);
  shuffle(all, random);
  Chosen chosen;
  for (const Word& word : all) {
    const int64_t length = word.end - word.begin;
    if (length <= left) {
      chosen.push_back(word);
      left -= length;
    }
    if (left == 0) {
      break;
    }
  }
  if (chosen.empty() && !all.empty()) {
    chosen.push_back(all.front());
  }
  // Each token of a word is replaced by a draw of its own, as BERT's whole-word masking does.
  Chosen tokens;
  for (const Word& word : chosen) {
    for (int64_t position = word.begin; position < word.end; ++position) {
      tokens.push_back({position, position + 1});
    }
  }
  return tokens;
}

int64_t Masker::span_length(Random& random) const {
  const double draw = random.uniform_double();
  const auto at = std::upper_bound(span_cumulated_.begin(), span_cumulated_.end(), draw);
  return std::min<int64_t>(at - span_cumulated_.begin() + 1, options_.span_longest);
}

Masker::Chosen Masker::choose_spans(const std::vector<int64_t>& ids, Random& random) const {
  const std::vector<Word> all = words(ids);
  int64_t candidates = 0;
  for (const Word& word : all) {
    candidates += word.end - word.begin;
  }
  int64_t left = wanted(candidates);
  // Words in random order, those already hidden passed over, are uniform draws among the ones that
  // are not, and the walk ends however the words are long.
  std::vector<std::size_t> anchors(all.size());
  std::iota(anchors.begin(), anchors.end(), std::size_t{0});
  shuffle(anchors, random);
  std::vector<uint8_t> is_hidden(all.size(), 0);
  Chosen chosen;
  for (const std::size_t anchor : anchors) {
    if (left == 0) {
      break;
    }
    const auto most = static_cast<std::size_t>(span_length(random));
    Word span{all[anchor].begin, all[anchor].begin};
    for (std::size_t word = anchor; word < all.size() && word < anchor + most; ++word) {
      const int64_t length = all[word].end - all[word].begin;
      if (is_hidden[word] != 0 || all[word].begin != span.end || length > left) {
        break;
      }
      is_hidden[word] = 1;
      span.end = all[word].end;
      left -= length;
    }
    if (span.end > span.begin) {
      chosen.push_back(span);
    }
  }
  if (chosen.empty() && !all.empty()) {
    chosen.push_back(all[anchors.front()]);
  }
  return chosen;
}

void Masker::replace(Example& example, const Chosen& chosen, Random& random) const {
  example.target_positions.clear();
  example.targets.clear();
  for (const Word& run : chosen) {
    const double draw = random.uniform_double();
    for (int64_t position = run.begin; position < run.end; ++position) {
      int64_t& id = example.ids[static_cast<std::size_t>(position)];
      example.target_positions.push_back(position);
      example.targets.push_back(id);
      if (draw < options_.mask_share) {
        id = mask_id_;
      } else if (draw < options_.mask_share + options_.random_share) {
        id = drawable_[random.below(drawable_.size())];
      }
    }
  }
}

}  // namespace weft::data
