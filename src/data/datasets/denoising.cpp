#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "data/datasets/corruption.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"

namespace weft::data {

namespace {

using Ids = std::vector<int64_t>;

/// Random streams of a text: each step draws independently, so that no step affects another.
enum class NoiseStep : uint64_t { kInfill = 0, kPermute = 1, kRotate = 2, kDelete = 3, kMask = 4 };

/// Poisson sample by Knuth's product of uniforms; the means are small.
int64_t poisson(double mean, Random& random) {
  const double threshold = std::exp(-mean);
  int64_t count = 0;
  for (double product = random.uniform_double(); product > threshold; ++count) {
    product *= random.uniform_double();
  }
  return count;
}

int64_t count_of_fraction(int64_t tokens, double fraction) {
  return std::llround(fraction * static_cast<double>(tokens));
}

/// `count` distinct integers below `bound`, in random order.
Ids sample_without_replacement(int64_t count, int64_t bound, Random& random) {
  Ids all(static_cast<std::size_t>(bound));
  std::iota(all.begin(), all.end(), int64_t{0});
  for (int64_t i = 0; i < count; ++i) {
    const auto other =
        i + static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(bound - i)));
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(other)]);
  }
  all.resize(static_cast<std::size_t>(count));
  return all;
}

class Denoising : public Corruption {
 public:
  Denoising(const Tokenizer& tokenizer, const DenoisingOptions& options, int64_t decoder_start_id)
      : options_(options),
        decoder_start_id_(decoder_start_id),
        mask_(tokenizer.special_token_ids().mask),
        template_(tokenizer, false) {
    if (mask_ < 0) {
      throw Error("tokenizer: it has no mask token, which denoising requires");
    }
  }

  int64_t max_tokens(int64_t length) const override {
    return length - template_.num_special_tokens();
  }

  int64_t length(int64_t tokens, Random random) const override {
    const auto spans = span_lengths(tokens, random);
    const auto masked = std::accumulate(spans.begin(), spans.end(), int64_t{0});
    const auto filled = tokens - masked + static_cast<int64_t>(spans.size());
    return filled - num_deleted(filled) + tokens + 2 * template_.num_special_tokens();
  }

  Example make(const CleanText& text, Random random) const override {
    const Random begin = random;
    Ids corrupted = permute(text, begin);
    rotate(corrupted, begin);
    corrupted = infill(corrupted, random);
    delete_tokens(corrupted, begin);
    mask_tokens(corrupted, begin);
    return make_shifted_example(template_.enclose(corrupted), template_.enclose(text.ids),
                                decoder_start_id_);
  }

  uint64_t fingerprint() const override {
    uint64_t hash = hash_combine(0xBA27, static_cast<uint64_t>(decoder_start_id_));
    for (const double value :
         {options_.permute_sentences, options_.rotate, options_.infilling_fraction,
          options_.infilling_span_mean, options_.delete_fraction, options_.mask_fraction}) {
      hash = hash_combine(hash, std::bit_cast<uint64_t>(value));
    }
    return hash;
  }

 private:
  /// Random stream of a step other than infilling: keyed by the text's first draw.
  static Random step_random(Random random, NoiseStep step) {
    const uint64_t key = random.bits64();
    return {key, RandomPurpose::kCorruption, static_cast<uint64_t>(step), 1};
  }

  /// Lengths of the spans that are replaced by one mask each: they add up to the fraction. Inserted
  /// masks (spans of length 0) never make the text longer.
  Ids span_lengths(int64_t tokens, Random& random) const {
    const auto wanted = std::min(tokens, count_of_fraction(tokens, options_.infilling_fraction));
    Ids lengths;
    int64_t inserted = 0;
    for (int64_t masked = 0; masked < wanted;) {
      const auto length = std::min(poisson(options_.infilling_span_mean, random), wanted - masked);
      masked += length;
      if (length > 0) {
        lengths.push_back(length);
      } else {
        ++inserted;
      }
    }
    inserted = std::min(inserted, wanted - static_cast<int64_t>(lengths.size()));
    lengths.insert(lengths.end(), static_cast<std::size_t>(inserted), 0);
    // Each span is placed in a different gap between the kept tokens.
    const auto gaps = static_cast<std::size_t>(tokens - wanted + 1);
    while (lengths.size() > gaps) {
      const int64_t last = lengths.back();
      lengths.pop_back();
      lengths.back() += last;
    }
    return lengths;
  }

  Ids infill(const Ids& ids, Random& random) const {
    const auto tokens = static_cast<int64_t>(ids.size());
    const auto lengths = span_lengths(tokens, random);
    const auto masked = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    const auto gaps = sample_without_replacement(static_cast<int64_t>(lengths.size()),
                                                 tokens - masked + 1, random);
    Ids span_of_gap(static_cast<std::size_t>(tokens - masked + 1), -1);
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      span_of_gap[static_cast<std::size_t>(gaps[i])] = lengths[i];
    }
    Ids filled;
    auto position = ids.begin();
    for (const int64_t span : span_of_gap) {
      if (span >= 0) {
        filled.push_back(mask_);
        position += span;
      }
      if (position != ids.end()) {
        filled.push_back(*position++);
      }
    }
    return filled;
  }

  Ids permute(const CleanText& text, const Random& random) const {
    Random draws = step_random(random, NoiseStep::kPermute);
    if (text.sentence_ends.size() < 2 || draws.uniform_double() >= options_.permute_sentences) {
      return text.ids;
    }
    const auto count = static_cast<int64_t>(text.sentence_ends.size());
    Ids result;
    for (const int64_t sentence : sample_without_replacement(count, count, draws)) {
      const auto index = static_cast<std::size_t>(sentence);
      const int64_t begin = index == 0 ? 0 : text.sentence_ends[index - 1];
      result.insert(result.end(), text.ids.begin() + begin,
                    text.ids.begin() + text.sentence_ends[index]);
    }
    return result;
  }

  void rotate(Ids& ids, const Random& random) const {
    Random draws = step_random(random, NoiseStep::kRotate);
    if (!ids.empty() && draws.uniform_double() < options_.rotate) {
      const auto first = static_cast<int64_t>(draws.uniform_int(ids.size()));
      std::rotate(ids.begin(), ids.begin() + first, ids.end());
    }
  }

  /// At least one token is kept.
  int64_t num_deleted(int64_t tokens) const {
    return std::min(count_of_fraction(tokens, options_.delete_fraction),
                    std::max<int64_t>(0, tokens - 1));
  }

  void delete_tokens(Ids& ids, const Random& random) const {
    const auto tokens = static_cast<int64_t>(ids.size());
    Random draws = step_random(random, NoiseStep::kDelete);
    for (const int64_t position : sample_without_replacement(num_deleted(tokens), tokens, draws)) {
      ids[static_cast<std::size_t>(position)] = -1;
    }
    std::erase(ids, -1);
  }

  void mask_tokens(Ids& ids, const Random& random) const {
    const auto tokens = static_cast<int64_t>(ids.size());
    Random draws = step_random(random, NoiseStep::kMask);
    for (const int64_t position : sample_without_replacement(
             count_of_fraction(tokens, options_.mask_fraction), tokens, draws)) {
      ids[static_cast<std::size_t>(position)] = mask_;
    }
  }

  DenoisingOptions options_;
  int64_t decoder_start_id_;
  int64_t mask_;
  SequenceTemplate template_;
};

class PrefixSplit : public Corruption {
 public:
  PrefixSplit(const Tokenizer& tokenizer, int64_t decoder_start_id)
      : decoder_start_id_(decoder_start_id), template_(tokenizer, false) {}

  int64_t max_tokens(int64_t length) const override {
    return length - template_.num_special_tokens();
  }
  int64_t length(int64_t tokens, Random /*random*/) const override {
    return tokens + 2 * template_.num_special_tokens();
  }
  Example make(const CleanText& text, Random random) const override {
    const auto tokens = text.ids.size();
    const auto split = text.ids.begin() +
                       static_cast<int64_t>(tokens < 2 ? 0 : 1 + random.uniform_int(tokens - 1));
    return make_shifted_example(template_.enclose({text.ids.begin(), split}),
                                template_.enclose({split, text.ids.end()}), decoder_start_id_);
  }
  uint64_t fingerprint() const override {
    return hash_combine(0x93EF, static_cast<uint64_t>(decoder_start_id_));
  }

 private:
  int64_t decoder_start_id_;
  SequenceTemplate template_;
};

}  // namespace

Example make_shifted_example(Ids source, Ids targets, int64_t decoder_start_id) {
  Example example;
  example.source_ids = std::move(source);
  example.ids.reserve(targets.size());
  example.ids.push_back(decoder_start_id);
  example.ids.insert(example.ids.end(), targets.begin(), targets.end() - 1);
  example.targets = std::move(targets);
  example.target_positions.resize(example.targets.size());
  std::iota(example.target_positions.begin(), example.target_positions.end(), int64_t{0});
  return example;
}

std::unique_ptr<Corruption> make_denoising(const Tokenizer& tokenizer,
                                           const DenoisingOptions& options,
                                           int64_t decoder_start_id) {
  return std::make_unique<Denoising>(tokenizer, options, decoder_start_id);
}

std::unique_ptr<Corruption> make_prefix_split(const Tokenizer& tokenizer,
                                              int64_t decoder_start_id) {
  return std::make_unique<PrefixSplit>(tokenizer, decoder_start_id);
}

}  // namespace weft::data
