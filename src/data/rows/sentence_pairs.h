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
  uint32_t target = 0;  // target number of tokens of the pair
};

struct ChunkSettings {
  Truncation truncation = Truncation::kSplit;
  int64_t max_tokens = 0;  // tokens of both texts together
  uint64_t seed = 1;
};

struct Chunks {
  std::vector<PairChunk> chunks;  // in the order of the store
  int64_t documents = 0;          // that gave at least one chunk
  int64_t single_sentence = 0;    // documents dropped: only one sentence
  int64_t truncated = 0;          // documents of which only the first chunk is kept
  int64_t dropped = 0;            // documents dropped: longer than max_tokens
};

/// Divides each document of two sentences or more into chunks that reach their target length with
/// the last sentence, as for BERT (arXiv:1810.04805, appendix A.2): the target is `max_tokens`, but
/// shorter for a tenth of the chunks. Unlike BERT, each chunk has at least two sentences: a lone
/// last sentence is joined with the one before, and one-sentence documents are dropped. kTruncate
/// keeps each document's first chunk, kDrop drops documents longer than `max_tokens`.
Chunks chunk_documents(const TokenStore& store, const ChunkSettings& settings);

}  // namespace weft::data
