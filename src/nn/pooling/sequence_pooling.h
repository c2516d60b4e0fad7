#pragma once

#include <cstdint>
#include <memory>

#include <torch/nn/module.h>

#include "nn/component.h"
#include "nn/forward_context.h"

namespace weft::nn {

struct SequencePoolingOptions {
  int64_t dim = 0;    // D
  int64_t heads = 0;  // H
};

/// Makes one vector of the states of each sequence, for a classifier: (N, D) -> (B, D). No sequence
/// may be empty.
class SequencePooling : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& hidden, const ForwardContext& context) = 0;
};

using SequencePoolingDefinition = ComponentDefinition<SequencePooling, SequencePoolingOptions>;
using SequencePoolingMaker = SequencePoolingDefinition::Maker;

/// The values of `model.classifier_pooling`.
const Registry<SequencePoolingDefinition>& sequence_poolings();

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_sequence_pooling(const SequencePoolingDefinition& definition);

/// Type `multihead_attention`: a learned vector attends to the tokens of each sequence, with a
/// residual feed-forward and norms around it (PMA with one seed, arXiv:1810.00825, section 3.2).
SequencePoolingMaker read_multihead_attention_pooling(config::Section& section);

}  // namespace weft::nn
