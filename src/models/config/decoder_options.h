#pragma once

#include <cstdint>

#include "kernels/attention/rotary.h"

namespace weft::models {

/// What decoders and encoder-decoders do otherwise than BERT's kind. Rotary base, gates and biases
/// stand in ModernOptions. The defaults are what the other families do.
struct DecoderOptions {
  int64_t key_value_heads = 0;  // G: heads of keys and values, each read by H / G heads of queries;
                                // 0: H
  int64_t head_width = 0;       // K; 0: D / H
  int64_t window = 0;           // a token sees itself and window - 1 before it; 0: all before it
  int64_t first_window = 0;     // the first layer that has the window
  bool has_rms_norm = false;
  bool output_bias = true;       // of the attention's last projection, where modern.attention_bias
                                 // speaks of queries, keys and values
  bool scales_by_layer = false;  // scores of layer i are divided by i + 1
  bool is_parallel = false;      // attention and feed-forward read the same stream
  bool sees_prompt = false;      // the tokens of a prompt all see one another (prefix LM)
  double embedding_dropout = 0;  // where ModelOptions::dropout speaks of the sub-layers only
  double initial_factor = 1;     // T5: scales the deviations of its initial values
  double rotary_share = 1;       // of the features of a head that are turned
  kernels::RotaryStretch rotary_stretch = {};

  // Encoder-decoders: ModelOptions::layers, heads and width are the encoder's.
  int64_t layers = 0;  // of the decoder; 0: there is none beside the stack
  int64_t heads = 0;
  int64_t width = 0;
  int64_t source_vocabulary = 0;  // of the encoder where it has a vocabulary of its own; 0: shared
  bool ties_source = true;        // encoder and decoder share the word embedding;
                                  // ModelOptions::ties_embeddings: the output matrix is the
                                  // decoder's
  bool scales_embedding = false;  // by the root of D
  bool scales_output = false;     // states by the inverse of it before the output matrix (T5)
  bool has_embedding_norm = true;
  int64_t relative_buckets = 0;  // T5's positions; 0: none
  int64_t relative_distance = 128;
  int64_t position_offset = 0;  // rows of the position table before that of the first token

  // ids that config.json and generation_config.json name; -1: none
  int64_t start_id = -1;         // what the decoder begins with
  int64_t forced_begin_id = -1;  // what it must give first
  int64_t forced_end_id = -1;    // what it must give at the greatest length
  int64_t prompt_end_id = -1;    // sees_prompt: what stands between a prompt and its answer

  bool operator==(const DecoderOptions&) const = default;
};

}  // namespace weft::models
