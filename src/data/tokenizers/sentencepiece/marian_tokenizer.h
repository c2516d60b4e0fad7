#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"

namespace weft::data {

/// Whether the directory holds the files of a Marian model as transformers has them: `source.spm`
/// and `target.spm`, SentencePiece models that cut the texts of either side, and `vocab.json` with
/// the ids of the pieces of both (with `separate_vocabs: true` in tokenizer_config.json those of
/// targets stand in `target_vocab.json`).
bool has_marian_tokenizer(const std::string& directory);

/// Reads them as transformers' MarianTokenizer does: pieces that the vocabulary does not have are
/// unknown, a code such as `>>fra<<` at a text's begin is one token, and a text ends with `</s>`.
/// Throws data::Error naming the file.
std::shared_ptr<const Tokenizer> load_marian_tokenizer(const std::string& directory);

}  // namespace weft::data
