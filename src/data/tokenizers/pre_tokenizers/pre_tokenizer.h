#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/aligned_text.h"
#include "data/tokenizers/json_fields.h"

namespace weft::data {

/// A text split into words. Pre-tokenizers split words further, and may rewrite the text.
struct Words {
  AlignedText text;
  std::vector<TextRange> ranges;         // of `text`, in order, none empty
  bool is_first = true;                  // whether this is the beginning of the whole text
  std::vector<TextRange> previous = {};  // memory that is reused to split the ranges
};

/// One `pre_tokenizer` of a tokenizer.json. Immutable; may be called by many threads at once.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  virtual void apply(Words& words) const = 0;

  /// Asks to leave bytes as they are from now on, instead of converting them to GPT-2's printable
  /// characters, because the model reads bytes; false if the pre-tokenizer does not convert them.
  virtual bool keep_bytes() { return false; }
};

using MakePreTokenizer = std::unique_ptr<PreTokenizer> (*)(const JsonFields& fields);

std::unique_ptr<PreTokenizer> make_bert_pre_tokenizer(const JsonFields& fields);
std::unique_ptr<PreTokenizer> make_whitespace_split(const JsonFields& fields);
std::unique_ptr<PreTokenizer> make_byte_level(const JsonFields& fields);
std::unique_ptr<PreTokenizer> make_metaspace(const JsonFields& fields);
std::unique_ptr<PreTokenizer> make_split(const JsonFields& fields);
std::unique_ptr<PreTokenizer> make_digits(const JsonFields& fields);
std::unique_ptr<PreTokenizer> make_punctuation(const JsonFields& fields);
std::unique_ptr<PreTokenizer> make_delimiter_split(const JsonFields& fields);
std::unique_ptr<PreTokenizer> make_whitespace(const JsonFields& fields);

/// Created by the object's `type`, from the table in pre_tokenizer.cpp. Throws data::Error.
std::unique_ptr<PreTokenizer> make_pre_tokenizer(const JsonFields& fields);

/// GPT-2's byte alphabet: printable bytes map to themselves, the others to code points from U+0100
/// on.
const std::array<std::string, 256>& bytes_to_unicode();

/// Appends the words of `range`, which cover it.
using SplitWords = void (*)(std::string_view text, TextRange range, std::vector<TextRange>& words);

/// Splits like GPT-2's pattern: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
/// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void split_gpt2_words(std::string_view text, TextRange range, std::vector<TextRange>& words);

/// Splits each range.
void split_words(Words& words, SplitWords split);

/// The function that splits exactly as this regular expression, ten times as fast; null unless it
/// is one of the well-known expressions of GPT-2, GPT-4, Llama 3 and Qwen.
SplitWords find_word_splitter(std::string_view expression);

}  // namespace weft::data
