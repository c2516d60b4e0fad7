#pragma once

#include <cstdint>

#include "kernels/attention/rotary.h"

namespace weft::models {

/// Differences of decoders and encoder-decoders from BERT-like models. The rotary base, gates and
/// biases are in ModernOptions. The defaults are the behaviour of the other families.
struct DecoderOptions {
  int64_t key_value_heads = 0;  // G: key and value heads, each shared by H / G query heads; 0: H
  int64_t head_dim = 0;         // K; 0: D / H
  int64_t window = 0;           // a token attends to itself and window - 1 tokens before it; 0: all
  int64_t first_window_layer = 0;  // first layer with the window
  bool has_rms_norm = false;
  bool output_bias = true;  // bias of the attention's output projection; modern.attention_bias
                            // covers queries, keys and values
  bool scale_attn_by_inverse_layer_idx = false;  // divides the scores of layer i by i + 1
  bool is_parallel = false;                      // attention and feed-forward share their input
  bool is_prefix_lm = false;                     // prompt attention is bidirectional (prefix LM)
  double embedding_dropout = 0;      // where ModelOptions::dropout covers the sub-layers only
  double initial_factor = 1;         // T5: scales the initial standard deviations
  double partial_rotary_factor = 1;  // fraction of a head's features that are rotated
  kernels::RotaryScaling rope_scaling = {};

  // Encoder-decoders: ModelOptions::layers, heads and width are the encoder's.
  int64_t layers = 0;  // of the decoder; 0: no separate decoder
  int64_t heads = 0;
  int64_t width = 0;
  int64_t source_vocabulary = 0;  // of an encoder with a separate vocabulary; 0: shared
  bool share_encoder_decoder_embeddings = true;  // encoder and decoder share the word embedding;
                                                 // ModelOptions::tie_word_embeddings: the output
                                                 // matrix is the decoder's word embedding
  bool scale_embedding = false;                  // by sqrt(D)
  bool scale_decoder_outputs = false;  // states by 1 / sqrt(D) before the output matrix (T5)
  bool has_embedding_norm = true;
  int64_t relative_buckets = 0;  // T5's relative positions; 0: none
  int64_t relative_max_distance = 128;
  int64_t position_offset = 0;  // rows of the position table before that of the first token

  // ids from config.json and generation_config.json; -1: none
  int64_t decoder_start_id = -1;  // first input token of the decoder
  int64_t forced_bos_id = -1;     // first token that it must generate
  int64_t forced_eos_id = -1;     // last token that it must generate at the maximum length
  int64_t prefix_end_id = -1;     // is_prefix_lm: separator of prompt and answer

  bool operator==(const DecoderOptions&) const = default;
};

}  // namespace weft::models
