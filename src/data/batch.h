#pragma once

#include <cstdint>
#include <vector>

namespace weft::data {

inline constexpr int64_t kIgnoreIndex = -100;  // label that the loss ignores

/// One item as the model sees it, after pairing, truncation and masking.
struct Example {
  std::vector<int64_t> ids;               // L; for images see formats/image.h
  std::vector<int64_t> source_ids;        // encoder input; empty: no encoder
  std::vector<float> patches;             // of an image, one row of pixels per patch
  int64_t patch_width = 0;                // values per patch, all channels
  std::vector<int64_t> token_type_ids;    // L, or empty if the model family has no segment ids
  std::vector<int64_t> positions;         // L, or empty: explicit position of each token
  std::vector<int64_t> sentence_lengths;  // tokens of each sentence, or empty: not divided
  std::vector<int64_t> target_positions;  // M, ascending: positions in `ids` with targets
  std::vector<int64_t> targets;           // M, target ids at these positions
  int64_t prefix_length = 0;  // number of leading `ids` that a decoder attends to bidirectionally
  int64_t stream = -1;        // text that continues over several steps (nn::CarriedState); -1: none
  int64_t label = kIgnoreIndex;  // class of the whole sequence (next sentence: 0 is next)
  /// T values: regression targets, or 1/0 per class for multi-label classification.
  std::vector<double> values;

  /// Number of ids, or of patches of an image.
  int64_t tokens() const;
  /// The same with the encoder input.
  int64_t total_tokens() const { return tokens() + std::ssize(source_ids); }
};

/// Concatenated examples, without padding.
struct Batch {
  std::vector<int64_t> items;       // B, index of each item in the data set
  std::vector<int64_t> ids;         // N; for an encoder-decoder the decoder ids, already shifted
  std::vector<int64_t> source_ids;  // M', encoder input, or empty
  std::vector<int64_t> source_offsets{0};  // B + 1, or {0} without encoder input
  std::vector<float> patches;              // (N, patch_width), or empty
  int64_t patch_width = 0;
  std::vector<int64_t> token_type_ids;    // N, or empty
  std::vector<int64_t> positions;         // N, or empty
  std::vector<int64_t> sentence_lengths;  // of all sentences in order, or empty
  std::vector<int64_t> sentence_counts;   // B, sentences of each example, or empty
  std::vector<int64_t> offsets{0};        // B + 1, start of each sequence in ids (or in patches)
  std::vector<int64_t> target_rows;       // M, rows of `ids` with a target
  std::vector<int64_t> targets;           // M
  std::vector<int64_t> prefix_lengths;    // B, one per example
  std::vector<int64_t> streams;           // B, or empty if no example continues one
  std::vector<int64_t> labels;            // B
  std::vector<double> values;             // (B, T)

  int64_t sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back(); }
  int64_t source_tokens() const { return source_offsets.back(); }
  int64_t total_tokens() const { return tokens() + source_tokens(); }
  /// Number of targets of each row that has some, in order.
  std::vector<int64_t> targets_per_row() const;
  void add(int64_t item, const Example& example);

 private:
  void add_patches(const Example& example);
  void add_sentences(const Example& example);
};

}  // namespace weft::data
