#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/error.h"

namespace weft::data {

/// A token of a text: its id and the text bytes [begin, end) that it covers.
struct Token {
  int32_t id = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Ids of the special tokens; -1: not in this tokenizer.
struct SpecialTokenIds {
  int32_t pad = -1;
  int32_t unk = -1;
  int32_t bos = -1;
  int32_t eos = -1;
  int32_t cls = -1;  // first token of an encoder sequence
  int32_t sep = -1;  // after each text
  int32_t mask = -1;
};

/// One or two texts with their special tokens, as built by the tokenizer's post-processor.
struct Sequence {
  std::vector<int32_t> ids;
  std::vector<int32_t> token_type_ids;  // 0 first text, 1 second, as the family's template defines
  std::vector<uint8_t> is_special;      // 1 for tokens added by the template
};

/// Converts between text and ids. Immutable after construction; all functions may be called by many
/// threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Tokenises the text without adding special tokens; special tokens written in the text are
  /// recognised (if the format supports it). Ill-formed UTF-8 is read as U+FFFD.
  virtual std::vector<Token> tokens(std::string_view text) const = 0;
  /// Like `tokens`, but ids only; the fast path.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids) const = 0;

  /// Like `encode`, as 64-bit ids for models.
  std::vector<int64_t> ids(std::string_view text) const;

  /// Adds special tokens around the ids of one text, or of two.
  virtual Sequence sequence(const std::vector<int32_t>& first) const = 0;
  virtual Sequence sequence(const std::vector<int32_t>& first,
                            const std::vector<int32_t>& second) const = 0;

  virtual std::string decode(const std::vector<int32_t>& ids,
                             bool skip_special_tokens = true) const = 0;

  /// Number of ids, including special and added tokens.
  virtual int64_t size() const = 0;
  virtual std::string piece(int32_t id) const = 0;
  virtual std::optional<int32_t> id(std::string_view piece) const = 0;
  virtual SpecialTokenIds special_token_ids() const = 0;
  virtual bool is_special(int32_t id) const = 0;
  /// Whether this token continues a word (`##ing`; SentencePiece without `▁`): for whole-word
  /// masking.
  virtual bool continues_word(int32_t id) const = 0;

  /// Tokenizer for target texts and decoder output: this one, unless source and target use separate
  /// models (Marian). It has the same lifetime as this one, saves the same files and has the same
  /// fingerprint.
  virtual const Tokenizer& target() const { return *this; }
  /// Whether one id may mean different pieces in sources and targets.
  bool has_separate_vocabularies() const;

  /// Writes tokenizer.json, tokenizer_config.json, special_tokens_map.json and the family's legacy
  /// files (vocab.txt, spiece.model) into the directory, so that transformers' AutoTokenizer gives
  /// the same ids; for a Marian tokenizer only its own files. `max_length`: model_max_length.
  virtual void save(const std::string& directory, int64_t max_length) const = 0;

  /// Whether truncation removes the beginning of a text instead of its end: `truncation_side` of
  /// tokenizer_config.json.
  virtual bool truncates_left() const { return false; }
  /// Index of the first token kept when `kept` of `tokens` remain.
  int64_t first_kept(int64_t tokens, int64_t kept) const {
    return truncates_left() ? tokens - kept : 0;
  }

  /// Hash of everything that affects the ids; part of the token store's key.
  virtual uint64_t fingerprint() const = 0;

  /// The token that a word is, alone or after a space; nullopt: it is several tokens or unknown.
  std::optional<int32_t> word_token(const std::string& word) const;

  /// Number of tokens that the template adds to one text, or to a pair.
  int64_t num_special_tokens_to_add(bool is_pair) const;
};

/// Loads a tokenizer from: a directory with tokenizer.json, vocab.txt, spiece.model, ..., or one of
/// these files; a directory with source.spm and target.spm; a run directory. A bare `.model` file
/// adds no special tokens. Throws data::Error naming the file.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path);

/// Whether the directory contains files that load_tokenizer can read.
bool has_tokenizer(const std::string& directory);

}  // namespace weft::data
