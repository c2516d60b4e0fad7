#pragma once

#include <memory>
#include <optional>

#include "config/section.h"
#include "models/config/options.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// ELECTRA (arXiv:2003.10555, section 2): masked tokens are replaced by samples of a generator; the
/// model, a discriminator, predicts for every token whether it differs from the original. The terms
/// are `generator` and, times its weight, `discriminator`. Sampling passes no gradient. The model
/// must have a generator (models/generator.h).
std::unique_ptr<Objective> make_replaced_token_objective(const ObjectiveOptions& options);

/// The generator of a discriminator, whose embeddings it shares.
models::ModelOptions generator_options(const GeneratorOptions& wanted,
                                       const models::ModelOptions& discriminator);

/// The generator needed beside the model; nullopt for other objectives.
std::optional<models::ModelOptions> generator_model_options(const models::ModelOptions& model,
                                                            const ObjectiveOptions& objective);

/// Reads the keys of type replaced_token. Throws config::Error.
void read_replaced_token(config::Section& section, ReplacedTokenOptions& options);

}  // namespace weft::objectives
