#pragma once

#include <string>
#include <vector>

#include "data/tokenizer_options.h"
#include "data/tokenizers/pipeline.h"

namespace weft::data {

/// Special tokens of a style: names and positions.
struct SpecialTokenLayout {
  std::vector<std::string> first;        // ids 0, 1, ...
  std::vector<std::string> last;         // the last ids, ascending
  std::string pad, unk, cls, sep, mask;  // empty: none
  // Whether the mask includes the space before it, so that the word before it is unaffected.
  bool mask_lstrip = false;
};

/// `languages`: for mBART's style.
SpecialTokenLayout special_token_layout(TokenizerTemplate style,
                                        const LanguageCodes& languages = {});
/// Layout for byte_level_bpe: all tokens come before the pieces, as in the trainers of such
/// tokenizers.
SpecialTokenLayout byte_level_layout(TokenizerTemplate style);

/// Whether the style uses BERT's names and template.
bool is_bert_style(TokenizerTemplate style);

/// Adds the layout's tokens, its template and the names in tokenizer_config.json to a document
/// whose model has ids from 0. The layout's last tokens get the last ids below `size`.
void add_special_tokens(TokenizerParts& parts,
                        TokenizerTemplate style,
                        const SpecialTokenLayout& layout,
                        int64_t size);

/// Codes of mBART's 25 languages (arXiv:2001.08210), which its tokenizer class in transformers adds
/// to every vocabulary.
const std::vector<std::string>& mbart_language_codes();

/// These codes, followed by the other ones in `languages`, without duplicates. Throws data::Error
/// for a code that would also match inside words.
std::vector<std::string> mbart_language_codes(const LanguageCodes& languages);

}  // namespace weft::data
