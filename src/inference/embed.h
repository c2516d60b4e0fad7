#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/tokenizer.h"
#include "models/model.h"
#include "models/sentence.h"

namespace weft::inference {

/// Vectors of texts.
struct Embeddings {
  at::Tensor vectors;          // (texts, E) fp32, on the host
  int64_t cut = 0;             // texts that were longer than the model takes
  int64_t without_tokens = 0;  // empty ones of a tokenizer that adds none: their vectors are zeros
};

/// Embeds texts in their order. They are batched by length, packed (`batch_tokens` at most), and do
/// not depend on each other. `language`: of the texts, where the model tells languages apart.
/// Throws UserError where projections do not fit, and as TokenTypes.
Embeddings embed(models::Model& model,
                 const data::Tokenizer& tokenizer,
                 const std::vector<std::string>& texts,
                 const models::SentenceOptions& options,
                 int64_t batch_tokens = 4096,
                 const std::string& language = {});

}  // namespace weft::inference
