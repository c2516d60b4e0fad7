#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "data/datasets/noiser.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"

namespace weft::data {

namespace {

using Ids = std::vector<int64_t>;

/// Sites of a text's chance: each noise has draws of its own, so that one does not change another.
enum class Site : uint64_t { kInfill = 0, kPermute = 1, kRotate = 2, kDelete = 3, kHide = 4 };

/// A Poisson number by Knuth's product of uniforms; means are small.
int64_t poisson(double mean, Random& random) {
  const double least = std::exp(-mean);
  int64_t count = 0;
  for (double product = random.uniform_double(); product > least; ++count) {
    product *= random.uniform_double();
  }
  return count;
}

int64_t share_of(int64_t tokens, double fraction) {
  return std::llround(fraction * static_cast<double>(tokens));
}

/// `count` of the numbers below `bound`, in random order.
Ids draw_distinct(int64_t count, int64_t bound, Random& random) {
  Ids all(static_cast<std::size_t>(bound));
  std::iota(all.begin(), all.end(), int64_t{0});
  for (int64_t i = 0; i < count; ++i) {
    const auto other = i + static_cast<int64_t>(random.below(static_cast<uint64_t>(bound - i)));
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(other)]);
  }
  all.resize(static_cast<std::size_t>(count));
  return all;
}

class Denoising : public Noiser {
 public:
  Denoising(const Tokenizer& tokenizer, const DenoiseOptions& options, int64_t start)
      : options_(options),
        start_(start),
        mask_(tokenizer.special().mask),
        template_(tokenizer, false) {
    if (mask_ < 0) {
      throw Error("tokenizer: it has no mask token, denoising needs one");
    }
  }

  int64_t room(int64_t length) const override { return length - template_.added(); }

  int64_t length(int64_t tokens, Random random) const override {
    const auto spans = span_lengths(tokens, random);
    const auto hidden = std::accumulate(spans.begin(), spans.end(), int64_t{0});
    const auto filled = tokens - hidden + static_cast<int64_t>(spans.size());
    return filled - deleted(filled) + tokens + 2 * template_.added();
  }

  Example make(const PlainStretch& text, Random random) const override {
    const Random begin = random;
    Ids noisy = permuted(text, begin);
    rotate(noisy, begin);
    noisy = infilled(noisy, random);
    remove(noisy, begin);
    hide(noisy, begin);
    return shifted(framed(noisy), framed(text.ids), start_);
  }

  uint64_t fingerprint() const override {
    uint64_t hash = mix(0xBA27, static_cast<uint64_t>(start_));
    for (const double value :
         {options_.permute_sentences, options_.rotate, options_.infill_fraction,
          options_.infill_mean, options_.delete_fraction, options_.hide_fraction}) {
      hash = mix(hash, std::bit_cast<uint64_t>(value));
    }
    return hash;
  }

 private:
  /// Draws of a noise other than infilling: keyed by what the text's own first draw is.
  static Random chance(Random random, Site site) {
    const uint64_t key = random.bits64();
    return {key, Purpose::kNoise, static_cast<uint64_t>(site), 1};
  }

  /// Lengths of the spans that give way to a mask each: they add up to the fraction. Masks that are
  /// put in between tokens, spans of none, never make the text longer.
  Ids span_lengths(int64_t tokens, Random& random) const {
    const auto wanted = std::min(tokens, share_of(tokens, options_.infill_fraction));
    Ids lengths;
    int64_t inserted = 0;
    for (int64_t hidden = 0; hidden < wanted;) {
      const auto length = std::min(poisson(options_.infill_mean, random), wanted - hidden);
      hidden += length;
      if (length > 0) {
        lengths.push_back(length);
      } else {
        ++inserted;
      }
    }
    inserted = std::min(inserted, wanted - static_cast<int64_t>(lengths.size()));
    lengths.insert(lengths.end(), static_cast<std::size_t>(inserted), 0);
    // Each stands in a gap of its own between the tokens that are kept.
    const auto gaps = static_cast<std::size_t>(tokens - wanted + 1);
    while (lengths.size() > gaps) {
      const int64_t last = lengths.back();
      lengths.pop_back();
      lengths.back() += last;
    }
    return lengths;
  }

  Ids infilled(const Ids& ids, Random& random) const {
    const auto tokens = static_cast<int64_t>(ids.size());
    const auto lengths = span_lengths(tokens, random);
    const auto hidden = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    const auto gaps =
        draw_distinct(static_cast<int64_t>(lengths.size()), tokens - hidden + 1, random);
    Ids span_of_gap(static_cast<std::size_t>(tokens - hidden + 1), -1);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      span_of_gap[static_cast<std::size_t>(gaps[i])] = lengths[i];
    }
    Ids filled;
    auto place = ids.begin();
    for (const int64_t span : span_of_gap) {
      if (span >= 0) {
        filled.push_back(mask_);
        place += span;
      }
      if (place != ids.end()) {
        filled.push_back(*place++);
      }
    }
    return filled;
  }

  Ids permuted(const PlainStretch& text, const Random& random) const {
    Random draws = chance(random, Site::kPermute);
    if (text.ends.size() < 2 || draws.uniform_double() >= options_.permute_sentences) {
      return text.ids;
    }
    const auto count = static_cast<int64_t>(text.ends.size());
    Ids made;
    for (const int64_t sentence : draw_distinct(count, count, draws)) {
      const auto index = static_cast<std::size_t>(sentence);
      const int64_t begin = index == 0 ? 0 : text.ends[index - 1];
      made.insert(made.end(), text.ids.begin() + begin, text.ids.begin() + text.ends[index]);
    }
    return made;
  }

  void rotate(Ids& ids, const Random& random) const {
    Random draws = chance(random, Site::kRotate);
    if (!ids.empty() && draws.uniform_double() < options_.rotate) {
      const auto first = static_cast<int64_t>(draws.below(ids.size()));
      std::rotate(ids.begin(), ids.begin() + first, ids.end());
    }
  }

  /// At least one token is left.
  int64_t deleted(int64_t tokens) const {
    return std::min(share_of(tokens, options_.delete_fraction), std::max<int64_t>(0, tokens - 1));
  }

  void remove(Ids& ids, const Random& random) const {
    const auto tokens = static_cast<int64_t>(ids.size());
    Random draws = chance(random, Site::kDelete);
    for (const int64_t place : draw_distinct(deleted(tokens), tokens, draws)) {
      ids[static_cast<std::size_t>(place)] = -1;
    }
    std::erase(ids, -1);
  }

  void hide(Ids& ids, const Random& random) const {
    const auto tokens = static_cast<int64_t>(ids.size());
    Random draws = chance(random, Site::kHide);
    for (const int64_t place :
         draw_distinct(share_of(tokens, options_.hide_fraction), tokens, draws)) {
      ids[static_cast<std::size_t>(place)] = mask_;
    }
  }

  Ids framed(const Ids& ids) const {
    Ids whole = template_.before();
    whole.insert(whole.end(), ids.begin(), ids.end());
    whole.insert(whole.end(), template_.after().begin(), template_.after().end());
    return whole;
  }

  DenoiseOptions options_;
  int64_t start_;
  int64_t mask_;
  SequenceTemplate template_;
};

class PrefixCut : public Noiser {
 public:
  PrefixCut(const Tokenizer& tokenizer, int64_t start)
      : start_(start), template_(tokenizer, false) {}

  int64_t room(int64_t length) const override { return length - template_.added(); }
  int64_t length(int64_t tokens, Random /*random*/) const override {
    return tokens + 2 * template_.added();
  }
  Example make(const PlainStretch& text, Random random) const override {
    const auto tokens = text.ids.size();
    const auto cut =
        text.ids.begin() + static_cast<int64_t>(tokens < 2 ? 0 : 1 + random.below(tokens - 1));
    return shifted(framed({text.ids.begin(), cut}), framed({cut, text.ids.end()}), start_);
  }
  uint64_t fingerprint() const override { return mix(0x93EF, static_cast<uint64_t>(start_)); }

 private:
  Ids framed(const Ids& ids) const {
    Ids whole = template_.before();
    whole.insert(whole.end(), ids.begin(), ids.end());
    whole.insert(whole.end(), template_.after().begin(), template_.after().end());
    return whole;
  }

  int64_t start_;
  SequenceTemplate template_;
};

}  // namespace

Example shifted(Ids source, Ids targets, int64_t start) {
  Example example;
  example.source_ids = std::move(source);
  example.ids.reserve(targets.size());
  example.ids.push_back(start);
  example.ids.insert(example.ids.end(), targets.begin(), targets.end() - 1);
  example.targets = std::move(targets);
  example.target_positions.resize(example.targets.size());
  std::iota(example.target_positions.begin(), example.target_positions.end(), int64_t{0});
  return example;
}

std::unique_ptr<Noiser> make_denoising(const Tokenizer& tokenizer,
                                       const DenoiseOptions& options,
                                       int64_t start) {
  return std::make_unique<Denoising>(tokenizer, options, start);
}

std::unique_ptr<Noiser> make_prefix_cut(const Tokenizer& tokenizer, int64_t start) {
  return std::make_unique<PrefixCut>(tokenizer, start);
}

}  // namespace weft::data
