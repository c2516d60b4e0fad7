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

/// Sources of a tokenizer: the tree of a tokenizer.json, and the contents of the other files of its
/// directory.
struct TokenizerParts {
  formats::Json document = formats::Json::object();  // tokenizer.json
  formats::Json config = formats::Json::object();    // tokenizer_config.json
  formats::Json target_processor = nullptr;          // post_processor for targets; null: the same
  std::string sentencepiece = {};                    // bytes of spiece.model, if there is one
  bool is_byte_level = false;  // set by Pipeline: the decoder reads GPT-2's byte characters
  std::string location = {};   // names the file in messages
};

/// A tokenizer structured like Hugging Face's `tokenizers`: added tokens are split off, the text
/// between them passes through normalizer, pre-tokenizer and model; a template adds special tokens;
/// the decoder converts ids back to text.
class Pipeline : public Tokenizer {
 public:
  /// Throws data::Error at `parts.location` for anything damaged or unknown.
  explicit Pipeline(TokenizerParts parts);

  std::vector<Token> tokens(std::string_view text) const override;
  void encode(std::string_view text, std::vector<int32_t>& ids) const override;
  Sequence sequence(const std::vector<int32_t>& first) const override;
  Sequence sequence(const std::vector<int32_t>& first,
                    const std::vector<int32_t>& second) const override;
  std::string decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const override;
  int64_t size() const override { return static_cast<int64_t>(flags_.size()); }
  std::string piece(int32_t id) const override;
  std::optional<int32_t> id(std::string_view piece) const override;
  SpecialTokenIds special_token_ids() const override { return special_; }
  bool is_special(int32_t id) const override { return has_flag(id, kSpecial); }
  bool continues_word(int32_t id) const override { return has_flag(id, kContinues); }
  const Tokenizer& target() const override { return target_ ? *target_ : *this; }
  bool truncates_left() const override { return truncates_left_; }
  void save(const std::string& directory, int64_t max_length) const override;
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  enum Flag : uint8_t { kSpecial = 1, kContinues = 2 };
  struct Scratch;  // per-thread memory, reused between texts

  void read_components(const JsonFields& fields);
  void read_tokens(const JsonFields& fields);
  void read_special_ids();
  void mark_continuation_pieces();

  template <class Emit>
  void run(std::string_view text, bool is_tracked, const Emit& emit) const;
  template <class Emit>
  void run_segment(const AlignedText& text, bool is_first, const Emit& emit) const;
  template <class Emit>
  void run_words(Words& words, const Emit& emit) const;
  void append_ids(const Words& words, Scratch& scratch) const;
  void append_pieces(std::string_view word, std::size_t at, Scratch& scratch) const;
  std::string_view added_or_piece(int32_t id) const;
  bool has_flag(int32_t id, Flag flag) const {
    return id >= 0 && id < size() && (flags_[static_cast<std::size_t>(id)] & flag) != 0;
  }

  TokenizerParts parts_;  // document without its vocabulary; `document_text_` is complete
  std::string document_text_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  std::unique_ptr<TokenDecoder> decoder_;
  PostProcessorTemplate post_processor_;
  std::unique_ptr<const Tokenizer> target_;
  std::vector<AddedToken> added_;
  Vocabulary added_pieces_;
  TokenFinder raw_finder_;         // before the normalizer
  TokenFinder normalized_finder_;  // after it
  SpecialTokenIds special_;
  std::vector<uint8_t> flags_;  // by id
  bool truncates_left_ = false;
  uint64_t fingerprint_ = 0;
  uint32_t serial_ = 0;  // identifies the tokenizer in the word cache
};

/// Writes the vocabulary in id order, in the legacy file formats. Throws FileError.
void save_legacy_files(const TokenModel& model,
                       const TokenizerParts& parts,
                       const std::string& directory);

/// View of a tokenizer that differs only in its special tokens. `whole` must outlive it.
std::unique_ptr<const Tokenizer> make_target_template(const Tokenizer& whole,
                                                      PostProcessorTemplate steps);

}  // namespace weft::data
