#pragma once

#include <cstdint>

namespace weft::models {

/// Weight of an occurrence of a word. tfidf: its inverse document frequency in the training data,
/// with each text then scaled to length 1.
enum class Weighting { kCount, kBinary, kTfidf };

/// A linear classifier of word counts.
struct BagOptions {
  Weighting weighting = Weighting::kTfidf;
  int64_t ngrams = 1;       // 2: bigrams, too
  int64_t buckets = 65536;  // rows of the table shared by hashed bigrams

  bool operator==(const BagOptions&) const = default;
};

/// The decomposable attention model (arXiv:1606.01933). ModelOptions::embedding_size and dim are
/// the widths of its embeddings before and after the projection.
struct DecomposableOptions {
  int64_t hidden = 200;          // H, width of the feed-forward networks
  bool intra_attention = false;  // section 3.4
  int64_t distance = 10;         // from this distance in words the attention bias is shared

  bool operator==(const DecomposableOptions&) const = default;
};

}  // namespace weft::models
