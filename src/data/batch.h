#pragma once

#include <cstdint>
#include <vector>

namespace weft::data {

inline constexpr int64_t kIgnored = -100;  // a label that no loss looks at

/// One item as a model sees it, after pairing, cutting and masking.
struct Example {
  std::vector<int64_t> ids;               // L; of images see data/patches.h
  std::vector<int64_t> source_ids;        // what an encoder reads; empty: there is none
  std::vector<float> patches;             // of an image, one row of pixels after the other
  int64_t patch_width = 0;                // pixels of a row, all channels
  std::vector<int64_t> types;             // L, or empty where the family tells no tokens apart
  std::vector<int64_t> positions;         // L, or empty: each token's own place
  std::vector<int64_t> target_positions;  // M, rising: positions of `ids` that the loss looks at
  std::vector<int64_t> targets;           // M, the right ids there
  int64_t prefix = 0;        // tokens of `ids`, the first ones, that a decoder too sees both ways
  int64_t label = kIgnored;  // class of the whole sequence (also next sentence: 0 is next)
  /// T numbers: what a regression is to find, or 1 and 0 for classes that are and are not there.
  std::vector<double> values;
};

/// Examples one after another, without padding.
struct Batch {
  std::vector<int64_t> items;       // B, which items of the data set these are
  std::vector<int64_t> ids;         // N; of an encoder-decoder the decoder's, shifted already
  std::vector<int64_t> source_ids;  // M', what an encoder reads, or empty
  std::vector<int64_t> source_offsets{0};  // B + 1, or {0} where there is no source
  std::vector<float> patches;              // (N, patch_width), or empty
  int64_t patch_width = 0;
  std::vector<int64_t> types;        // N, or empty
  std::vector<int64_t> positions;    // N, or empty
  std::vector<int64_t> offsets{0};   // B + 1, begins of the sequences in ids (or in patches)
  std::vector<int64_t> target_rows;  // M, rows of `ids` that the loss looks at
  std::vector<int64_t> targets;      // M
  std::vector<int64_t> prefixes;     // B, those of the examples
  std::vector<int64_t> labels;       // B
  std::vector<double> values;        // (B, T)

  int64_t sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t tokens() const { return offsets.back(); }
  int64_t source_tokens() const { return source_offsets.back(); }
  int64_t all_tokens() const { return tokens() + source_tokens(); }
  void add(int64_t item, const Example& example);

 private:
  void add_patches(const Example& example);
};

}  // namespace weft::data
