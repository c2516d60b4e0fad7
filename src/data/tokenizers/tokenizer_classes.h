#pragma once

#include <string>
#include <vector>

#include "data/tokenizers/pipeline.h"

namespace weft::data {

/// The class that `transformers` would open the directory with: what tokenizer_config.json says,
/// else the one of the model's family; empty where neither is known.
std::string tokenizer_class(const formats::Json& config, const formats::Json& model_config);

/// Changes the document as the class does: of a tokenizer.json these classes keep the vocabulary
/// and build all else anew from tokenizer_config.json. Other classes change nothing. Throws
/// data::Error.
void apply_tokenizer_class(TokenizerParts& parts, const std::string& name);

/// Gives a SentencePiece unigram model's document the ids that fairseq's models have: `<s>`,
/// `<pad>`,
/// `</s>`, `<unk>`, the pieces after the model's first three, `last`.
void lay_out_as_fairseq(formats::Json& document, const std::vector<std::string>& last);

}  // namespace weft::data
