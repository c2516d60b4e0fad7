#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/recurrent.h"
#include "nn/decoding_state.h"
#include "nn/recurrent/cell.h"
#include "nn/recurrent/encoder_attention.h"

namespace weft::models {

/// What a recurrent decoder keeps from step to step: rows are sequences.
struct RnnDecoderState {
  std::vector<kernels::RecurrentState> layers;
  at::Tensor features;  // (B, D), with input feeding
  at::Tensor coverage;  // (B, S), with coverage

  /// The state of the first sequences.
  RnnDecoderState first(int64_t count);
  /// Replaces the first rows by those of `now`; the other sequences keep theirs.
  void set_first(RnnDecoderState& now);

  /// Reads what an earlier pass has kept of each sequence, if any, and keeps the state for the next
  /// one. Row i of the state is that of sequence sequences[i].
  void load(nn::DecodingState& decoding, const std::vector<int64_t>& sequences);
  void keep(nn::DecodingState& decoding, const std::vector<int64_t>& sequences);

 private:
  /// The tensors that there are, with their names.
  std::vector<std::pair<std::string, at::Tensor*>> tensors();
};

/// What a recurrent decoder reads of the sources: rows are sequences.
struct RnnDecoderSource {
  nn::AttentionSource attention;  // with attention
  at::Tensor summary;             // (B, C): last forward and first backward state of the encoder

  RnnDecoderSource select(const at::Tensor& rows) const;
  RnnDecoderSource first(int64_t count) const;

  /// Kept for all steps of generation. `kept`: undefined summary before.
  void keep(nn::DecodingState& decoding) const;
  static RnnDecoderSource kept(nn::DecodingState& decoding);
};

}  // namespace weft::models
