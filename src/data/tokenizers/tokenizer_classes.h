#pragma once

#include <string>
#include <vector>

#include "data/tokenizers/pipeline.h"

namespace weft::data {

/// Class that `transformers` would use for the directory: the one in tokenizer_config.json, else
/// that of the model's family; empty if neither is known.
std::string tokenizer_class(const formats::Json& config, const formats::Json& model_config);

/// Modifies the document as the class does: these classes keep only the vocabulary of a
/// tokenizer.json and rebuild everything else from tokenizer_config.json. Other classes change
/// nothing. Throws data::Error.
void apply_tokenizer_class(TokenizerParts& parts, const std::string& name);

/// Renumbers a SentencePiece unigram model's document to fairseq's ids: `<s>`, `<pad>`, `</s>`,
/// `<unk>`, the pieces after the model's first three, `last`.
void convert_to_fairseq_ids(formats::Json& document, const std::vector<std::string>& last);

}  // namespace weft::data
