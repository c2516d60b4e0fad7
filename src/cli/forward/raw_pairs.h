#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "cli/forward/raw_inputs.h"
#include "models/model.h"

namespace weft::cli {

/// Checks what an encoder-decoder takes beside the source: decoder_input_ids and their mask, and
/// labels.
void check_pairs(const RawInputs& inputs, const models::ModelOptions& options);

/// One pass through a model with an encoder and a decoder: `logits` (B, T, V), `loss` where there
/// are labels. Without decoder_input_ids the labels are shifted, as transformers does, up to the
/// last that is not -100 of each row.
std::map<std::string, at::Tensor> raw_pair_pass(models::Model& model, const RawInputs& inputs);

}  // namespace weft::cli
