#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/error.h"

namespace weft::data {

/// A piece of a text: its id and the bytes of the text it stands for, [begin, end).
struct Token {
  int32_t id = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

/// Ids of the special tokens; -1: this tokenizer has none such.
struct SpecialIds {
  int32_t pad = -1;
  int32_t unknown = -1;
  int32_t begin = -1;     // bos
  int32_t end = -1;       // eos
  int32_t classify = -1;  // cls: first token of an encoder's sequence
  int32_t separate = -1;  // sep: after each text
  int32_t mask = -1;
};

/// One or two texts with their special tokens: what the tokenizer's post-processor makes.
struct Sequence {
  std::vector<int32_t> ids;
  std::vector<int32_t> types;       // 0 first text, 1 second, as the family's template says
  std::vector<uint8_t> is_special;  // 1 for tokens that the template added
};

/// Text to ids and back. Immutable after construction; all functions may be called by many threads
/// at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Tokens of the text alone; special tokens that stand in the text are recognised (where the
  /// format does so). Ill-formed UTF-8 is read as U+FFFD.
  virtual std::vector<Token> tokens(std::string_view text) const = 0;
  /// As `tokens`, ids only; the fast path.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids) const = 0;

  /// The same as models take them.
  std::vector<int64_t> ids(std::string_view text) const;

  /// Special tokens around the ids of one text, or of two.
  virtual Sequence sequence(const std::vector<int32_t>& first) const = 0;
  virtual Sequence sequence(const std::vector<int32_t>& first,
                            const std::vector<int32_t>& second) const = 0;

  virtual std::string decode(const std::vector<int32_t>& ids, bool skips_special = true) const = 0;

  /// Number of ids, special ones and added ones counted.
  virtual int64_t size() const = 0;
  virtual std::string piece(int32_t id) const = 0;
  virtual std::optional<int32_t> id(std::string_view piece) const = 0;
  virtual SpecialIds special() const = 0;
  virtual bool is_special(int32_t id) const = 0;
  /// Whether a word goes on with this token (`##ing`; SentencePiece without `▁`): for whole-word
  /// masking.
  virtual bool continues_word(int32_t id) const = 0;

  /// The tokenizer of target texts, and of what a decoder writes: this one, unless the two sides of
  /// a translation are cut into pieces by models of their own (Marian). It lives as long as this
  /// one, saves the same files and has the same fingerprint.
  virtual const Tokenizer& target() const { return *this; }
  /// Whether an id may be one piece of sources and another of targets.
  bool has_two_vocabularies() const;

  /// Writes tokenizer.json, tokenizer_config.json, special_tokens_map.json and the family's older
  /// files (vocab.txt, spiece.model) into the directory, so that transformers' AutoTokenizer gives
  /// the same ids; of a Marian tokenizer its own files alone. `max_length`: model_max_length.
  virtual void save(const std::string& directory, int64_t max_length) const = 0;

  /// Whether a text that is too long loses its begin and not its end: `truncation_side` of
  /// tokenizer_config.json.
  virtual bool cuts_begin() const { return false; }
  /// The first token that is kept of so many.
  int64_t first_kept(int64_t tokens, int64_t kept) const {
    return cuts_begin() ? tokens - kept : 0;
  }

  /// Hash of all that decides the ids; key of the token store.
  virtual uint64_t fingerprint() const = 0;

  /// How many tokens the template adds to one text, or to two.
  int64_t added_tokens(bool is_pair) const;
};

/// Reads a tokenizer: a directory with tokenizer.json, vocab.txt, spiece.model, ..., or one of
/// these files; a directory with source.spm and target.spm; a run's directory. A bare `.model` file
/// adds no special tokens. Throws data::Error naming the file.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path);

/// Whether the directory has files that load_tokenizer would read.
bool has_tokenizer(const std::string& directory);

}  // namespace weft::data
