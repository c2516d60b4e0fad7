#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/decoder.h"
#include "data/tokenizers/models/model.h"
#include "data/tokenizers/normalizers/normalizer.h"
#include "data/tokenizers/post_processor.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

/// What a tokenizer is made of: the tree of a tokenizer.json, beside it what the other files of its
/// directory say.
struct TokenizerParts {
  formats::Json document = formats::Json::object();  // tokenizer.json
  formats::Json config = formats::Json::object();    // tokenizer_config.json
  formats::Json target_processor = nullptr;          // post_processor of targets; null: the same
  std::string sentencepiece = {};                    // bytes of spiece.model, where there is one
  bool is_byte_level = false;  // set by Pipeline: the decoder reads GPT-2's signs for bytes
  std::string place = {};      // names the file in messages
};

/// A tokenizer as Hugging Face's `tokenizers` builds it: added tokens are cut out of the text, then
/// each stretch between them goes through normalizer, pre-tokenizer and model; a template puts
/// special tokens around; the decoder goes back.
class Pipeline : public Tokenizer {
 public:
  /// Throws data::Error at `parts.place` for what is damaged or unknown.
  explicit Pipeline(TokenizerParts parts);

  std::vector<Token> tokens(std::string_view text) const override;
  void encode(std::string_view text, std::vector<int32_t>& ids) const override;
  Sequence sequence(const std::vector<int32_t>& first) const override;
  Sequence sequence(const std::vector<int32_t>& first,
                    const std::vector<int32_t>& second) const override;
  std::string decode(const std::vector<int32_t>& ids, bool skips_special) const override;
  int64_t size() const override { return static_cast<int64_t>(flags_.size()); }
  std::string piece(int32_t id) const override;
  std::optional<int32_t> id(std::string_view piece) const override;
  SpecialIds special() const override { return special_; }
  bool is_special(int32_t id) const override { return has_flag(id, kSpecial); }
  bool continues_word(int32_t id) const override { return has_flag(id, kContinues); }
  const Tokenizer& target() const override { return target_ ? *target_ : *this; }
  bool cuts_begin() const override { return cuts_begin_; }
  void save(const std::string& directory, int64_t max_length) const override;
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  enum Flag : uint8_t { kSpecial = 1, kContinues = 2 };
  struct Scratch;  // memory of a thread, used again from text to text

  void read_components(const JsonFields& fields);
  void read_tokens(const JsonFields& fields);
  void read_special_ids();
  void mark_continuing();

  template <class Emit>
  void run(std::string_view text, bool is_tracked, const Emit& emit) const;
  template <class Emit>
  void run_stretch(const AlignedText& text, bool is_first, const Emit& emit) const;
  template <class Emit>
  void run_words(Words& words, const Emit& emit) const;
  void append_word_ids(std::string_view word, std::vector<int32_t>& ids) const;
  std::string_view added_or_piece(int32_t id) const;
  bool has_flag(int32_t id, Flag flag) const {
    return id >= 0 && id < size() && (flags_[static_cast<std::size_t>(id)] & flag) != 0;
  }

  TokenizerParts parts_;  // the document without its vocabulary: `document_text_` has it whole
  std::string document_text_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  std::unique_ptr<TokenDecoder> decoder_;
  SequenceSteps steps_;
  std::unique_ptr<const Tokenizer> target_;
  std::vector<AddedToken> added_;
  Vocabulary added_pieces_;
  TokenFinder raw_finder_;         // before the normalizer
  TokenFinder normalized_finder_;  // after it
  SpecialIds special_;
  std::vector<uint8_t> flags_;  // by id
  bool cuts_begin_ = false;
  uint64_t fingerprint_ = 0;
  uint32_t serial_ = 0;  // tells tokenizers apart in the word cache
};

/// The vocabulary in the order of its ids, as the older files have it. Throws FileError.
void save_older_files(const TokenModel& model,
                      const TokenizerParts& parts,
                      const std::string& directory);

}  // namespace weft::data
