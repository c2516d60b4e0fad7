#pragma once

#include "config/section.h"
#include "models/config/options.h"
#include "nn/halting.h"
#include "nn/step_embedding.h"

/// The keys `halting` and `step_embedding`: how many layers a token needs.
namespace weft::models {

/// Reads them after those of the layers. Throws config::Error.
void read_halting(config::Section& model, ModelOptions& options);

/// Words of config.json.
const config::Choices<nn::HaltingUnit>& halting_units();
const config::Choices<nn::StepEmbeddingType>& step_embeddings();

}  // namespace weft::models
