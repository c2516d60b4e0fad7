#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/section.h"
#include "data/tokenizer.h"

namespace weft::data {

enum class TokenizerType { kWordPiece, kUnigram, kBpe, kByteLevelBpe, kCharacters };

/// Which names and ids the special tokens get, and what the template is: BERT's `[CLS] a [SEP] b
/// [SEP]`, RoBERTa's `<s> a </s></s> b </s>`, or none as GPT-2 has it. Chosen by the model's
/// family.
enum class SpecialStyle {
  kBert,
  kBertNoSegments,  // models that take no segments are not handed any: DistilBERT, ModernBERT
  kRoberta,
  kXlmRoberta,  // of a unigram model transformers builds XLM-RoBERTa's own tokenizer
  kGpt2,        // byte_level_bpe and characters only
  kT5,          // `a </s>`, sentinels from <extra_id_0> down at the end of the vocabulary
  kEnding,      // the same without sentinels: the Transformer of 2017, Marian
};

/// How many sentinels a T5 tokenizer gets.
inline constexpr int64_t kSentinels = 100;

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
