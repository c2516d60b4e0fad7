#pragma once

#include <cstdint>
#include <vector>

#include "data/data_options.h"
#include "data/store/token_store.h"

namespace weft::data {

/// Tokens of a store that make one sequence.
struct PackedRange {
  int64_t begin = 0;  // first token
  uint32_t tokens = 0;
  uint32_t length = 0;  // with the separators at the borders of documents inside
};

struct PackSettings {
  Pack pack = Pack::kDocument;
  Overflow overflow = Overflow::kSplit;
  int64_t room = 0;        // tokens of a sequence, without what the template adds
  bool separates = false;  // stream: one token between documents
};

struct Packed {
  std::vector<PackedRange> ranges;
  int64_t cut = 0;      // texts that lost their end
  int64_t dropped = 0;  // texts left out
};

/// Cuts running text into sequences, in the order of the store. What is too long for one sequence
/// is a sentence for `none` and `stream`, a document for `document`: `cut` keeps its first `room`
/// tokens, `drop` leaves it out, `split` fills one sequence after another with whole sentences and
/// breaks only those that are longer than `room` themselves.
Packed pack_sequences(const TokenStore& store, const PackSettings& settings);

/// The document that holds a token.
int64_t document_of_token(const TokenStore& store, int64_t token);
/// The document that holds a sentence.
int64_t document_of_sentence(const TokenStore& store, int64_t sentence);

}  // namespace weft::data
