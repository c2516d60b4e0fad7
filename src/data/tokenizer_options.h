#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "data/tokenizer.h"
#include "formats/tokenizer_template.h"

namespace weft::data {

enum class TokenizerType {
  kWordPiece,
  kUnigram,
  kBpe,
  kByteLevelBpe,
  kCharacters,
  kWordLevel,
  kFastText
};

using formats::TokenizerTemplate;

/// Number of sentinel tokens of a T5 tokenizer.
inline constexpr int64_t kSentinels = 100;

/// Languages whose codes are tokens (as in mBART).
struct LanguageCodes {
  std::string source = "en_XX";          // appended to sources and to single texts
  std::string target = {};               // appended to targets; empty: same as for sources
  std::vector<std::string> others = {};  // further codes that texts may use
};

/// The `tokenizer:` section.
struct TokenizerOptions {
  TokenizerType type = TokenizerType::kWordPiece;
  int64_t vocab_size = 30522;
  std::optional<std::string> file = {};  // loaded instead of training a tokenizer
  std::string train_on = "data";  // `data`: the texts of data.train; else a glob of text files
  bool lowercase = true;          // wordpiece, fasttext
  std::optional<bool> strip_accents = {};  // wordpiece; nullopt: same as lowercase
  double character_coverage = 0.9995;      // unigram, bpe
  bool byte_fallback = false;              // unigram, bpe
  std::string normalization =
      "nmt_nfkc";  // unigram, bpe: nmt_nfkc | nfkc | nmt_nfkc_cf | nfkc_cf | identity
  bool add_prefix_space = false;                // byte_level_bpe
  int64_t sample_lines = 2'000'000;             // sample size for training if there are more lines
  int64_t min_frequency = 2;                    // wordpiece, byte_level_bpe, word_level, fasttext
  int64_t word_ngrams = 1;                      // fasttext
  std::array<int64_t, 2> char_ngrams = {0, 0};  // fasttext: shortest and longest; 0: none
  LanguageCodes languages = {};                 // mBART only; a run takes them from its data
};

/// `options`: the defaults. Throws config::Error (for example if `file` is combined with `train_on`
/// or does not exist).
TokenizerOptions read_tokenizer_options(config::Section& section, TokenizerOptions options = {});

/// The tokenizer of a config without `tokenizer:`: the type that fits the style, and 4 sqrt(bytes)
/// pieces for `bytes` of text, in [1000, 32000].
TokenizerOptions default_tokenizer_options(TokenizerTemplate style, int64_t bytes);

/// Statistics of training a tokenizer.
struct TokenizerReport {
  int64_t lines = 0;         // read
  int64_t sampled = 0;       // used
  int64_t skipped_long = 0;  // longer than the trainer's limit
  int64_t bytes = 0;         // used
  int64_t pruned_words = 0;  // wordpiece, byte_level_bpe: rare words discarded because there were
                             // too many distinct words
  std::vector<std::string> warnings = {};  // a smaller vocabulary, characters left out
};

/// Throws Error at the key of `tokenizer:` if no tokenizer with these options can have the special
/// tokens of the style.
void check_trainable(const TokenizerOptions& options, TokenizerTemplate style);

/// A TextSource calls the visitor for each text and returns when there are no more.
using TextVisitor = std::function<void(std::string_view)>;
using TextSource = std::function<void(const TextVisitor&)>;

/// Trains a tokenizer in bounded memory on the texts of `source`. Pure function of options, seed
/// and texts, independent of the number of threads. The vocabulary is smaller than vocab_size if
/// the texts yield fewer pieces. Throws data::Error if vocab_size is too small, or there is no
/// text.
std::shared_ptr<const Tokenizer> train_tokenizer(const TokenizerOptions& options,
                                                 TokenizerTemplate style,
                                                 uint64_t seed,
                                                 const TextSource& source,
                                                 TokenizerReport& report);

/// A tokenizer whose tokens are the words between white space, as they are: the special tokens of
/// the style, then these words.
std::shared_ptr<const Tokenizer> make_word_level_tokenizer(const std::vector<std::string>& words,
                                                           TokenizerTemplate style);

}  // namespace weft::data
