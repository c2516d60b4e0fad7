#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/tokenizer.h"
#include "models/decoding/search_options.h"
#include "models/model.h"

namespace weft::inference {

/// How much each token of a target attends to each token of its source.
struct Alignment {
  std::vector<std::string> source;  // S, tokens
  std::vector<std::string> target;  // L
  at::Tensor weights;               // (L, S) fp32 on the host; rows add up to at most 1

  /// The source token with the largest weight, for each target token.
  std::vector<int64_t> hard() const;
};

/// The alignment of a target that the decoder reads after `start`, its first tokens: the weights of
/// the last layer, of a Transformer the mean of its heads. Throws UserError for a model without
/// attention to the source.
Alignment align(models::Model& model,
                const data::Tokenizer& tokenizer,
                const models::Tokens& source,
                const models::Tokens& start,
                const models::Tokens& target);

}  // namespace weft::inference
