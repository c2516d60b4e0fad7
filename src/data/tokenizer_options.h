#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "data/tokenizer.h"
#include "formats/special_style.h"

namespace weft::data {

enum class TokenizerType { kWordPiece, kUnigram, kBpe, kByteLevelBpe, kCharacters };

using formats::SpecialStyle;

/// How many sentinels a T5 tokenizer gets.
inline constexpr int64_t kSentinels = 100;

/// Languages whose codes are tokens (mBART's style).
struct LanguageCodes {
  std::string source = "en_XX";          // stands behind sources, and texts by themselves
  std::string target = {};               // behind targets; empty: as behind sources
  std::vector<std::string> others = {};  // that texts may name
};

/// The `tokenizer:` section.
struct TokenizerOptions {
  TokenizerType type = TokenizerType::kWordPiece;
  int64_t vocab_size = 30522;
  std::optional<std::string> file = {};  // read this one instead of training
  std::string train_on = "data";  // `data`: the texts of data.train; else a glob of text files
  bool lowercase = true;          // wordpiece
  std::optional<bool> strip_accents = {};  // wordpiece; nothing: as lowercase
  double character_coverage = 0.9995;      // unigram, bpe
  bool byte_fallback = false;              // unigram, bpe
  std::string normalization =
      "nmt_nfkc";  // unigram, bpe: nmt_nfkc | nfkc | nmt_nfkc_cf | nfkc_cf | identity
  bool add_prefix_space = false;     // byte_level_bpe
  int64_t sample_lines = 2'000'000;  // lines drawn for training when there are more
  int64_t min_frequency = 2;         // wordpiece, byte_level_bpe
  LanguageCodes languages = {};      // of mBART's style; a run takes them from its data
};

/// Throws config::Error (`file` with `train_on` is refused, a missing file too).
TokenizerOptions read_tokenizer_options(config::Section& section);

/// What training a tokenizer saw.
struct TokenizerReport {
  int64_t lines = 0;         // read
  int64_t sampled = 0;       // used
  int64_t skipped_long = 0;  // longer than the trainer takes
  int64_t bytes = 0;         // used
  int64_t pruned_words = 0;  // wordpiece, byte_level_bpe: rare words forgotten because there were
                             // too many different ones
};

/// Calls the function for each text; returns when there are no more.
using TextVisitor = std::function<void(std::string_view)>;
using TextSource = std::function<void(const TextVisitor&)>;

/// Trains a tokenizer in bounded memory on what `source` visits. Pure function of options, seed and
/// texts, whatever the number of threads. Throws data::Error where the texts give fewer pieces than
/// vocab_size asks (says how many at most).
std::shared_ptr<const Tokenizer> train_tokenizer(const TokenizerOptions& options,
                                                 SpecialStyle style,
                                                 uint64_t seed,
                                                 const TextSource& source,
                                                 TokenizerReport& report);

}  // namespace weft::data
