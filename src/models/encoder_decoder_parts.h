#pragma once

#include <string>
#include <vector>

#include "config/section.h"
#include "formats/json.h"
#include "models/json_fields.h"
#include "models/names.h"
#include "models/options.h"

/// What the families with an encoder and a decoder share.
namespace weft::models {

/// Keys of `model:` beside those of stacks. Where the encoder's layers, heads or width are given
/// and the decoder's are not, these are alike.
struct EncoderDecoderKeys {
  std::string_view only;           // "type: t5"
  bool has_inner_dropout = false;  // feed_forward_dropout
  bool has_scaled_embedding = false;
  bool has_three_ties = false;  // ties_source, and ties_embeddings beside it
  bool has_relative = false;    // head_width, relative_positions, gated, scales_output
  bool has_activation = true;
};
void read_encoder_decoder_keys(config::Section& section,
                               ModelOptions& options,
                               const ModelOptions* base,
                               const EncoderDecoderKeys& keys);

/// decoder_start_token_id, forced_bos_token_id and forced_eos_token_id, for config.json and
/// generation_config.json.
void read_decoding_ids(const JsonFields& fields, ModelOptions& options);
void write_decoding_ids(formats::Json& json, const ModelOptions& options);
/// What these ids are for a new model with the options' own ids: T5 and Marian begin with the pad
/// id, BART with the end.
void settle_decoding_ids(ModelOptions& options);
/// Null for heads that do not generate.
formats::Json encoder_decoder_generation(const ModelOptions& options);

/// Makes lists of stored tensors, ours and theirs under prefixes.
class TensorList {
 public:
  /// A weight, and a bias where there are some: rows [first, first + rows) of our parameter.
  void linear(const std::string& ours,
              const std::string& stored,
              int64_t rows,
              int64_t columns,
              bool has_bias,
              int64_t first = 0,
              Part part = Part::kBackbone);
  void table(const std::string& ours, const std::string& stored, int64_t rows, int64_t columns);
  void norm(const std::string& ours, const std::string& stored, int64_t dim, bool has_bias);
  void add(StoredTensor tensor) { tensors_.push_back(std::move(tensor)); }
  std::vector<StoredTensor> result() && { return std::move(tensors_); }

 private:
  std::vector<StoredTensor> tensors_;
};

}  // namespace weft::models
