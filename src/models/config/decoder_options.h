#pragma once

#include <cstdint>

namespace weft::models {

/// The decoder of an encoder-decoder; ModelOptions::layers, heads and width are the encoder's.
struct DecoderOptions {
  int64_t layers = 0;  // 0: no separate decoder
  int64_t heads = 0;
  int64_t width = 0;
  int64_t source_vocabulary = 0;  // of an encoder with a separate vocabulary; 0: shared
  bool share_encoder_decoder_embeddings = true;  // encoder and decoder share the word embedding;
                                                 // ModelOptions::tie_word_embeddings: the output
                                                 // matrix is the decoder's word embedding
  bool scale_embedding = false;                  // by sqrt(D)
  bool scale_decoder_outputs = false;  // states by 1 / sqrt(D) before the output matrix (T5)
  bool has_embedding_norm = true;
  int64_t position_offset = 0;  // rows of the position table before that of the first token

  // ids from config.json and generation_config.json; -1: none
  int64_t decoder_start_id = -1;  // first input token of the decoder
  int64_t forced_bos_id = -1;     // first token that it must generate
  int64_t forced_eos_id = -1;     // last token that it must generate at the maximum length

  bool operator==(const DecoderOptions&) const = default;
};

}  // namespace weft::models
