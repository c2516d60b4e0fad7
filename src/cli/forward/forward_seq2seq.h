#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "cli/forward/forward_inputs.h"
#include "models/model.h"

namespace weft::cli {

/// Checks the inputs of an encoder-decoder beside the source: decoder_input_ids with their mask,
/// and labels.
void check_seq2seq_inputs(const ForwardInputs& inputs, const models::ModelOptions& options);

/// One forward pass of an encoder-decoder: `logits` (B, T, V), `loss` if there are labels. Without
/// decoder_input_ids the labels are shifted, as in transformers, up to the last one of each row
/// that is not -100.
std::map<std::string, at::Tensor> seq2seq_forward_pass(models::Model& model,
                                                       const ForwardInputs& inputs);

}  // namespace weft::cli
