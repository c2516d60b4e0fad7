#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"

namespace weft::data {

/// Whether the directory contains a Marian tokenizer in transformers' layout: `source.spm` and
/// `target.spm`, SentencePiece models of the two sides, and `vocab.json` with the ids of the pieces
/// of both (with `separate_vocabs: true` in tokenizer_config.json the ids of targets are in
/// `target_vocab.json`).
bool has_marian_tokenizer(const std::string& directory);

/// Loads it like transformers' MarianTokenizer: pieces that are not in the vocabulary are unknown,
/// a code such as `>>fra<<` at the beginning of a text is one token, and a text ends with `</s>`.
/// Throws data::Error naming the file.
std::shared_ptr<const Tokenizer> load_marian_tokenizer(const std::string& directory);

}  // namespace weft::data
