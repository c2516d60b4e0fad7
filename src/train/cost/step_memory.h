#pragma once

#include <cstdint>
#include <optional>

#include "models/adapters/lora_options.h"
#include "models/config/options.h"
#include "objectives/objective.h"
#include "train/cost/step_rows.h"

namespace weft::train {

/// What a step is run on, in one piece.
struct StepShape {
  StepRows rows;
  bool is_bf16 = false;
  bool recomputes_layers = false;
  int64_t first_trained_depth =
      0;  // depth of the lowest trained parameter (train/layer_wise_lr_decay.h)
  int64_t first_trained_depth_of_generator = 0;  // and in a generator beside the model
  bool trains_word_embeddings = true;         // the table of words, which the output matrix may be
  const models::LoraOptions* lora = nullptr;  // adapters, if any
  std::optional<models::ModelOptions> teacher = {};  // that is asked beside the model, if any
};

/// Bytes of the tensors that a step makes beside weights, gradients and optimizer.
struct StepMemory {
  double kept = 0;  // from the forward pass to the backward pass
  double head = 0;  // at most by the head alone: chunks of logits, gradients of its matrix
  double peak = 0;  // at most at once: kept, and what the kernels use for a moment
};

/// Goes through a step as its kernels allocate. What the libraries below use inside is not in it.
StepMemory step_memory(const models::ModelOptions& model,
                       const objectives::Objective& objective,
                       const StepShape& shape);

}  // namespace weft::train
