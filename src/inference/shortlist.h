#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "models/decoding/search_options.h"

namespace weft::inference {

/// A file of translation probabilities, and how much of it is used.
struct ShortlistOptions {
  std::string file;
  int64_t first = 100;  // target tokens that every text may contain: those with the lowest ids
  int64_t best = 100;   // most likely translations of each source token
};

/// Reads `FILE`, or `{file: FILE, first: 100, best: 100}`. `place`: the option, for errors. Throws
/// config::Error.
ShortlistOptions read_shortlist_options(const std::string& text, const std::string& place);

/// Lexical shortlist, as in Marian: the tokens that a translation of a source may consist of, so
/// that the output layer need not compute the others (candidate lists of arXiv:1412.2007).
class Shortlist {
 public:
  /// The file has lines `TARGET SOURCE PROBABILITY` of pieces of the vocabularies, separated by
  /// spaces or tabs; it may be compressed (.gz, .zst). As in Marian, lines with the word `NULL`,
  /// which is not a piece, are skipped. Throws formats::Error for other lines, with what is
  /// allowed, and for a file without lines. `required`: tokens of every text, besides the special
  /// ones.
  Shortlist(const ShortlistOptions& options,
            const data::Tokenizer& tokenizer,
            models::Tokens required);

  /// The tokens for a source, ascending: its translations, the first target tokens, all special
  /// tokens, and, where sources and targets have the same vocabulary, the source itself.
  models::Tokens tokens(const models::Tokens& source) const;

 private:
  std::vector<models::Tokens> translations_;  // of each source token
  models::Tokens always_;
  bool copies_source_;
};

}  // namespace weft::inference
