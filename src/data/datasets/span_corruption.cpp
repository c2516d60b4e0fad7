#include "data/datasets/span_corruption.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/string_util.h"
#include "data/datasets/corruption.h"
#include "data/error.h"

namespace weft::data {

namespace {

std::vector<int64_t> find_sentinels(const Tokenizer& tokenizer) {
  std::vector<int64_t> found;
  while (const auto id = tokenizer.id(str_cat("<extra_id_", found.size(), ">"))) {
    found.push_back(*id);
  }
  return found;
}

class SpanCorruption : public Corruption {
 public:
  SpanCorruption(const Tokenizer& tokenizer,
                 const SpanCorruptionOptions& options,
                 int64_t decoder_start_id,
                 int64_t length)
      : options_(options),
        decoder_start_id_(decoder_start_id),
        end_(tokenizer.special_token_ids().eos),
        sentinels_(find_sentinels(tokenizer)) {
    if (sentinels_.empty()) {
      throw Error(
          "tokenizer: it has no sentinel tokens <extra_id_0>, <extra_id_1>, ..., which span "
          "corruption requires");
    }
    if (end_ < 0) {
      throw Error("tokenizer: it has no end-of-sequence token, which span corruption requires");
    }
    const auto spans = span_counts(max_tokens(length), options).spans;
    if (spans > static_cast<int64_t>(sentinels_.size())) {
      throw Error(str_cat("data.length: ", length, " tokens give ", spans,
                          " corrupted spans, but the tokenizer has only ", sentinels_.size(),
                          " sentinels"));
    }
  }

  int64_t max_tokens(int64_t length) const override {
    int64_t tokens = 1;
    const auto fits = [&](int64_t count) {
      const auto lengths = source_and_target_lengths(count);
      return lengths.first <= length && lengths.second <= length;
    };
    while (fits(tokens + 1)) {
      ++tokens;
    }
    return tokens;
  }

  int64_t length(int64_t tokens, Random /*random*/) const override {
    const auto lengths = source_and_target_lengths(tokens);
    return lengths.first + lengths.second;
  }

  Example make(const CleanText& text, Random random) const override {
    const auto& ids = text.ids;
    std::vector<int64_t> source;
    std::vector<int64_t> targets;
    int64_t position = 0;
    std::size_t number = 0;
    const auto copy = [&](int64_t begin, int64_t end, std::vector<int64_t>& to) {
      to.insert(to.end(), ids.begin() + begin, ids.begin() + end);
    };
    for (const auto& [begin, end] :
         random_spans(static_cast<int64_t>(ids.size()), options_, random)) {
      copy(position, begin, source);
      source.push_back(sentinels_[number]);
      targets.push_back(sentinels_[number]);
      copy(begin, end, targets);
      position = end;
      ++number;
    }
    copy(position, static_cast<int64_t>(ids.size()), source);
    source.push_back(end_);
    targets.push_back(end_);
    return make_shifted_example(std::move(source), std::move(targets), decoder_start_id_);
  }

  uint64_t fingerprint() const override {
    uint64_t hash = hash_combine(0x75, std::bit_cast<uint64_t>(options_.fraction));
    hash = hash_combine(hash, std::bit_cast<uint64_t>(options_.span_mean));
    return hash_combine(hash, static_cast<uint64_t>(decoder_start_id_));
  }

 private:
  /// Numbers of encoder and decoder tokens.
  std::pair<int64_t, int64_t> source_and_target_lengths(int64_t tokens) const {
    const auto [noise_tokens, spans] = span_counts(tokens, options_);
    return {tokens - noise_tokens + spans + 1, noise_tokens + spans + 1};
  }

  SpanCorruptionOptions options_;
  int64_t decoder_start_id_;
  int64_t end_;
  std::vector<int64_t> sentinels_;  // in their order
};

}  // namespace

SpanCounts span_counts(int64_t tokens, const SpanCorruptionOptions& options) {
  if (tokens < 2) {
    return {};  // no input would remain
  }
  // Rounds half to even, as in T5.
  const auto rounded = [](double value) { return static_cast<int64_t>(std::nearbyint(value)); };
  const auto noise_tokens =
      std::clamp<int64_t>(rounded(static_cast<double>(tokens) * options.fraction), 1, tokens - 1);
  const auto spans = rounded(static_cast<double>(noise_tokens) / options.span_mean);
  return {.noise_tokens = noise_tokens,
          .spans = std::clamp<int64_t>(spans, 1, std::min(noise_tokens, tokens - noise_tokens))};
}

std::vector<int64_t> random_segmentation(int64_t total, int64_t parts, Random& random) {
  // Parts begin after parts - 1 of the first total - 1 items: sampled without replacement, in order
  // (Knuth's algorithm S).
  std::vector<int64_t> lengths;
  int64_t begin = 0;
  int64_t left = parts - 1;
  for (int64_t position = 1; position < total && left > 0; ++position) {
    if (static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(total - position))) < left) {
      lengths.push_back(position - begin);
      begin = position;
      --left;
    }
  }
  lengths.push_back(total - begin);
  return lengths;
}

Spans random_spans(int64_t tokens, const SpanCorruptionOptions& options, Random& random) {
  const auto [noise_tokens, count] = span_counts(tokens, options);
  Spans spans;
  if (count == 0) {
    return spans;
  }
  const auto lengths = random_segmentation(noise_tokens, count, random);
  const auto gaps = random_segmentation(tokens - noise_tokens, count, random);
  int64_t position = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    position += gaps[i];
    spans.emplace_back(position, position + lengths[i]);
    position += lengths[i];
  }
  return spans;
}

std::unique_ptr<Corruption> make_span_corruption(const Tokenizer& tokenizer,
                                                 const SpanCorruptionOptions& options,
                                                 int64_t decoder_start_id,
                                                 int64_t length) {
  return std::make_unique<SpanCorruption>(tokenizer, options, decoder_start_id, length);
}

}  // namespace weft::data
