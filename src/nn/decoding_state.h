#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/layout.h"

namespace weft::nn {

/// What the layers of a model keep of the tokens that it has read, so that each step of generation
/// computes only the new ones: keys and values (KvCache), recurrent state, ... Sequences have
/// different lengths: nothing is padded. For use without gradients.
///
///   DecodingState state(sequences);
///   context.decoding_state = &state;
///   context.layout = state.begin_step(counts, device);  // prompts first, then one token each
///   hidden = model.hidden(input, context);              // (N, D) of the new tokens
///   state.reorder(rows);                                // for beams, or to drop finished
///   sequences
class DecodingState {
 public:
  explicit DecodingState(int64_t sequences);

  int64_t sequences() const { return static_cast<int64_t>(lengths_.size()); }
  /// Tokens of each sequence so far, with and without those of the current pass.
  const std::vector<int64_t>& lengths() const { return lengths_; }
  const std::vector<int64_t>& previous_lengths() const { return previous_lengths_; }
  /// The encoder sequence that each sequence reads.
  const std::vector<int64_t>& source_indices() const { return source_indices_; }

  /// Begins a pass over the next `counts[b]` tokens of each sequence. Returns its layout, whose
  /// positions continue from the tokens before.
  kernels::Layout begin_step(const std::vector<int64_t>& counts, const at::Device& device);

  /// Replaces sequence b by the former sequence rows[b]; the number of sequences may change. Throws
  /// c10::Error if there is no such sequence.
  void reorder(const std::vector<int64_t>& rows);

  /// Tokens after this moment can be forgotten: see truncate().
  void mark();
  /// Forgets the tokens of sequence b after its first lengths[b], which must include those before
  /// the mark. Where a layer keeps something of each sequence, which no token can be taken out of,
  /// all tokens after the mark are forgotten: lengths() says how many are left. Throws c10::Error.
  void truncate(const std::vector<int64_t>& lengths);

  /// Replaces what is kept of these sequences, except of the encoder states, by what `other` keeps
  /// of its sequences, as many.
  void replace(const std::vector<int64_t>& sequences, const DecodingState& other);

  /// What the layers keep of the current segment of each sequence, in stacks that read segments one
  /// after another; this state then has that of the stack alone. reorder() reorders both.
  DecodingState& segment_state();

  /// What a layer keeps of each sequence, (B, ...), under a name of its own: undefined until it is
  /// assigned, never changed in place. reorder() selects its rows.
  at::Tensor& sequence_tensor(int64_t layer, const std::string& name) {
    return sequence_tensors_[{layer, name}];
  }
  /// What a layer keeps of each token, (B, capacity, ...): the tokens of sequence b come first,
  /// what follows them is unused. reorder() selects the rows of the tokens, so the capacity may
  /// change.
  at::Tensor& token_tensor(int64_t layer, const std::string& name) {
    return token_tensors_[{layer, name}];
  }
  /// What a layer keeps of the encoder states, which reorder() leaves as it is.
  at::Tensor& source_tensor(int64_t layer, const std::string& name) {
    return source_tensors_[{layer, name}];
  }

 private:
  using Key = std::pair<int64_t, std::string>;

  /// The state at the mark, without what is kept of each token.
  struct Mark {
    std::vector<int64_t> lengths = {};
    std::map<Key, at::Tensor> sequence_tensors = {};
    std::vector<DecodingState> segment_state = {};
  };

  std::vector<int64_t> lengths_;
  std::vector<int64_t> previous_lengths_;
  std::vector<int64_t> source_indices_;
  std::map<Key, at::Tensor> sequence_tensors_;
  std::map<Key, at::Tensor> token_tensors_;
  std::map<Key, at::Tensor> source_tensors_;
  Mark mark_;
  std::vector<DecodingState> segment_state_;  // none or one
};

}  // namespace weft::nn
