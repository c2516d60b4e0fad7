#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "models/decoding/search_options.h"

namespace weft::models {

/// Computes next-token logits for a search, which decides which sequences stay alive.
class Decoder {
 public:
  virtual ~Decoder() = default;

  /// Returns the logits after the prompts, (B, V).
  virtual at::Tensor first() = 0;
  /// Sequence i continues sequence rows[i] with tokens[i]; the others are dropped. Returns (R, V).
  virtual at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) = 0;
};

}  // namespace weft::models
