#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "models/decoding/search_options.h"

namespace weft::models {

/// Gives logits of next tokens to a search that says which sequences stay alive.
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// After the prompts: (B, V).
  virtual at::Tensor first() = 0;
  /// Sequence i goes on from what sequence rows[i] was, with tokens[i]; others are dropped. (R, V)
  virtual at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) = 0;
};

}  // namespace weft::models
