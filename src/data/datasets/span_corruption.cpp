#include "data/datasets/span_corruption.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text.h"
#include "data/datasets/noiser.h"
#include "data/error.h"

namespace weft::data {

namespace {

std::vector<int64_t> sentinels_of(const Tokenizer& tokenizer) {
  std::vector<int64_t> found;
  while (const auto id = tokenizer.id(text("<extra_id_", found.size(), ">"))) {
    found.push_back(*id);
  }
  return found;
}

class SpanCorruption : public Noiser {
 public:
  SpanCorruption(const Tokenizer& tokenizer,
                 const SpanCorruptionOptions& options,
                 int64_t start,
                 int64_t length)
      : options_(options),
        start_(start),
        end_(tokenizer.special().end),
        sentinels_(sentinels_of(tokenizer)) {
    if (sentinels_.empty()) {
      throw Error(
          "tokenizer: it has no sentinels <extra_id_0>, <extra_id_1>, ..., span corruption needs "
          "them");
    }
    if (end_ < 0) {
      throw Error("tokenizer: it has no end token, span corruption needs one");
    }
    const auto spans = span_counts(room(length), options).spans;
    if (spans > static_cast<int64_t>(sentinels_.size())) {
      throw Error(text("data.length: ", length, " tokens give ", spans,
                       " spans, but the tokenizer has only ", sentinels_.size(), " sentinels"));
    }
  }

  int64_t room(int64_t length) const override {
    int64_t tokens = 1;
    const auto fits = [&](int64_t count) {
      const auto sides = sides_of(count);
      return sides.first <= length && sides.second <= length;
    };
    while (fits(tokens + 1)) {
      ++tokens;
    }
    return tokens;
  }

  int64_t length(int64_t tokens, Random /*random*/) const override {
    const auto sides = sides_of(tokens);
    return sides.first + sides.second;
  }

  Example make(const PlainStretch& text, Random random) const override {
    const auto& ids = text.ids;
    std::vector<int64_t> source;
    std::vector<int64_t> targets;
    int64_t place = 0;
    std::size_t number = 0;
    const auto copy = [&](int64_t begin, int64_t end, std::vector<int64_t>& to) {
      to.insert(to.end(), ids.begin() + begin, ids.begin() + end);
    };
    for (const auto& [begin, end] :
         random_spans(static_cast<int64_t>(ids.size()), options_, random)) {
      copy(place, begin, source);
      source.push_back(sentinels_[number]);
      targets.push_back(sentinels_[number]);
      copy(begin, end, targets);
      place = end;
      ++number;
    }
    copy(place, static_cast<int64_t>(ids.size()), source);
    source.push_back(end_);
    targets.push_back(end_);
    return shifted(std::move(source), std::move(targets), start_);
  }

  uint64_t fingerprint() const override {
    uint64_t hash = mix(0x75, std::bit_cast<uint64_t>(options_.fraction));
    hash = mix(hash, std::bit_cast<uint64_t>(options_.span_mean));
    return mix(hash, static_cast<uint64_t>(start_));
  }

 private:
  /// Tokens of encoder and decoder.
  std::pair<int64_t, int64_t> sides_of(int64_t tokens) const {
    const auto [hidden, spans] = span_counts(tokens, options_);
    return {tokens - hidden + spans + 1, hidden + spans + 1};
  }

  SpanCorruptionOptions options_;
  int64_t start_;
  int64_t end_;
  std::vector<int64_t> sentinels_;  // in their order
};

}  // namespace

SpanCounts span_counts(int64_t tokens, const SpanCorruptionOptions& options) {
  if (tokens < 2) {
    return {};  // nothing would be left to read
  }
  // Halves go to the even number, as in the original.
  const auto rounded = [](double value) { return static_cast<int64_t>(std::nearbyint(value)); };
  const auto hidden =
      std::clamp<int64_t>(rounded(static_cast<double>(tokens) * options.fraction), 1, tokens - 1);
  const auto spans = rounded(static_cast<double>(hidden) / options.span_mean);
  return {.hidden = hidden,
          .spans = std::clamp<int64_t>(spans, 1, std::min(hidden, tokens - hidden))};
}

std::vector<int64_t> random_parts(int64_t total, int64_t parts, Random& random) {
  // Parts begin behind parts - 1 of the first total - 1 items: a draw without replacement, in
  // order (Knuth's algorithm S).
  std::vector<int64_t> lengths;
  int64_t begin = 0;
  int64_t left = parts - 1;
  for (int64_t place = 1; place < total && left > 0; ++place) {
    if (static_cast<int64_t>(random.below(static_cast<uint64_t>(total - place))) < left) {
      lengths.push_back(place - begin);
      begin = place;
      --left;
    }
  }
  lengths.push_back(total - begin);
  return lengths;
}

Spans random_spans(int64_t tokens, const SpanCorruptionOptions& options, Random& random) {
  const auto [hidden, count] = span_counts(tokens, options);
  Spans spans;
  if (count == 0) {
    return spans;
  }
  const auto lengths = random_parts(hidden, count, random);
  const auto gaps = random_parts(tokens - hidden, count, random);
  int64_t place = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    place += gaps[i];
    spans.emplace_back(place, place + lengths[i]);
    place += lengths[i];
  }
  return spans;
}

std::unique_ptr<Noiser> make_span_corruption(const Tokenizer& tokenizer,
                                             const SpanCorruptionOptions& options,
                                             int64_t start,
                                             int64_t length) {
  return std::make_unique<SpanCorruption>(tokenizer, options, start, length);
}

}  // namespace weft::data
