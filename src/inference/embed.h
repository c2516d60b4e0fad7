#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/tokenizer.h"
#include "models/model.h"
#include "models/sentence.h"

namespace weft::inference {

/// Embeddings of texts.
struct Embeddings {
  at::Tensor vectors;       // (texts, E) fp32, on the host
  int64_t truncated = 0;    // texts longer than the model's limit
  int64_t empty_texts = 0;  // empty texts without special tokens: their vectors are zeros
};

/// Embeds texts, in their order. They are batched by length (batching::run_batches) and do not
/// affect each other. `language`: of the texts, if the model distinguishes languages.
/// Throws UserError if projections do not fit, and like TokenTypeIds.
Embeddings embed(models::Model& model,
                 const data::Tokenizer& tokenizer,
                 const std::vector<std::string>& texts,
                 const models::SentenceOptions& options,
                 std::optional<int64_t> batch_tokens = {},
                 const std::string& language = {});

}  // namespace weft::inference
