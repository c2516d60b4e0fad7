#pragma once

#include <cstdint>
#include <vector>

#include "data/datasets/language_source.h"
#include "data/store/token_store.h"

namespace weft::data {

/// Consecutive sentences of one document, from which pairs are made.
struct PairChunk {
  int64_t first = 0;  // sentence of the store
  uint32_t sentences = 0;
  uint32_t target = 0;  // tokens that the pair is meant to have
};

struct ChunkSettings {
  Overflow overflow = Overflow::kSplit;
  int64_t room = 0;  // tokens of both texts together
  uint64_t seed = 1;
};

struct Chunks {
  std::vector<PairChunk> chunks;  // in the order of the store
  int64_t documents = 0;          // that gave at least one
  int64_t single = 0;             // documents left out, of one sentence
  int64_t cut = 0;                // documents of which only the first chunk is kept
  int64_t dropped = 0;            // documents left out, longer than the room
};

/// Divides each document of two sentences or more into chunks that reach their target with the last
/// sentence, as BERT's data were made (arXiv:1810.04805, appendix A.2): the target is the whole
/// room, but in a tenth of the chunks less. Unlike there each chunk has at least two sentences: a
/// lone last one is joined by the one before it, and documents of one sentence are left out.
/// `cut` keeps the first chunk of each document, `drop` leaves out documents longer than the room.
Chunks divide_documents(const TokenStore& store, const ChunkSettings& settings);

}  // namespace weft::data
