#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::nn {

/// Keys and values of some rows. `begins`: the first row of each sequence.
struct CachedRows {
  at::Tensor key;               // (rows, G K)
  at::Tensor value;             // (rows, G K)
  std::vector<int64_t> begins;  // B
  kernels::Layout layout;       // how many rows each sequence has; offsets and lengths alone
};

/// Keys and values that a decoder has computed for some sequences, layer by layer, so that each
/// pass computes its new tokens alone. Sequences have their own lengths: nothing is padded.
///
///   DecodingCache cache(sequences);
///   pass.cache = &cache;
///   pass.layout = cache.begin(counts, device);   // prompts first, then one token each
///   hidden = model.hidden(input, pass);          // (N, D) of the new tokens
///   cache.reorder(rows);                         // beams, or sequences that are done: left out
///
/// For use without gradients.
class DecodingCache {
 public:
  explicit DecodingCache(int64_t sequences);

  int64_t sequences() const { return static_cast<int64_t>(lengths_.size()); }
  /// Tokens of each sequence so far, those of the last pass that began counted.
  const std::vector<int64_t>& lengths() const { return lengths_; }

  /// A pass over the next `counts[b]` tokens of each sequence begins. -> its layout, whose
  /// positions go on where the sequences stand.
  kernels::Layout begin(const std::vector<int64_t>& counts, const at::Device& device);

  /// Sequence b becomes what sequence rows[b] was; there may be fewer or more of them afterwards.
  void reorder(const std::vector<int64_t>& rows);

  /// For attention: keeps the pass's rows of one layer, (N, G K) each, and gives all rows so far.
  CachedRows extend(int64_t layer, const at::Tensor& key, const at::Tensor& value);

  /// For cross attention: keys and values of the encoder's states, kept from the first pass on.
  bool has_memory(int64_t layer) const;
  void keep_memory(int64_t layer, const at::Tensor& key, const at::Tensor& value);
  /// Which sequence of the memory each sequence reads, as rows of it.
  CachedRows memory(int64_t layer, const kernels::Layout& memory_layout) const;

 private:
  struct Layer {
    at::Tensor own;     // (B, capacity, 2 G K): key and value side by side
    at::Tensor memory;  // (M, 2 G K)
  };

  Layer& layer(int64_t index);
  void grow(Layer& layer, const at::Tensor& key) const;

  std::vector<int64_t> lengths_;
  std::vector<int64_t> before_;   // lengths without the pass under way
  std::vector<int64_t> sources_;  // which sequence of the memory
  kernels::Layout layout_;        // of the pass under way
  kernels::Layout all_;           // of all rows
  std::vector<Layer> layers_;
};

}  // namespace weft::nn
