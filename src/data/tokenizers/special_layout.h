#pragma once

#include <string>
#include <vector>

#include "data/tokenizer_options.h"
#include "data/tokenizers/pipeline.h"

namespace weft::data {

/// The special tokens of a style: names and places.
struct SpecialLayout {
  std::vector<std::string> first;                      // ids 0, 1, ...
  std::vector<std::string> last;                       // the last ids, rising
  std::string pad, unknown, classify, separate, mask;  // empty: none
  // Whether the mask takes the space before it along, so that a word before it stays as it is.
  bool mask_strips_left = false;
};

/// `languages`: of mBART's style.
SpecialLayout special_layout(SpecialStyle style, const LanguageCodes& languages = {});
/// Of byte_level_bpe: as the trainers of such tokenizers lay them out, all tokens before the
/// pieces.
SpecialLayout byte_level_layout(SpecialStyle style);

/// Whether the style has BERT's names and template.
bool is_bert_style(SpecialStyle style);

/// Adds the layout's tokens, its template and the names in tokenizer_config.json to a document
/// whose model has the ids from 0 on. The layout's last tokens get the last ids below `size`.
void add_special_tokens(TokenizerParts& parts,
                        SpecialStyle style,
                        const SpecialLayout& layout,
                        int64_t size);

}  // namespace weft::data
