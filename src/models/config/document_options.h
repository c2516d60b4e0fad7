#pragma once

#include <cstdint>
#include <optional>

#include "models/config/layer_types.h"

namespace weft::nn {
class DocumentEncoder;
struct DocumentEncoderOptions;
}  // namespace weft::nn

namespace weft::models {

/// An encoder of documents over the vectors of their sentences.
struct DocumentOptions {
  nn::ComponentChoice<nn::DocumentEncoder, nn::DocumentEncoderOptions> encoder;
  int64_t layers = 2;            // over the sentences of a document; 0: none
  int64_t sentences = 30;        // maximum of a document
  int64_t sentence_length = 50;  // maximum tokens of a sentence, special tokens included
  int64_t decoder_layers = 2;    // of the decoder that predicts masked sentences
  /// Poolings of the tokens of a sentence, and of the sentences of a document.
  std::optional<nn::ComponentChoice<nn::SequencePooling, nn::SequencePoolingOptions>>
      sentence_vector;
  std::optional<nn::ComponentChoice<nn::SequencePooling, nn::SequencePoolingOptions>> pooling;
  LayerTypes types;  // of the layers over the sentences: attention, positions

  bool operator==(const DocumentOptions&) const = default;
};

}  // namespace weft::models
