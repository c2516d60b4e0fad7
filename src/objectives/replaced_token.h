#pragma once

#include <memory>
#include <optional>

#include "config/section.h"
#include "models/config/options.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// ELECTRA (arXiv:2003.10555, section 2): a generator guesses hidden tokens; tokens drawn from its
/// guesses take their places; the model, a discriminator, tells of every token whether it is
/// another than it was. The terms are `generator` and, times its weight, `discriminator`. No
/// gradient passes through the draws. The model must carry a generator (models/generator.h).
std::unique_ptr<Objective> make_replaced_token_objective(const ObjectiveOptions& options);

/// The generator of a discriminator, whose embeddings it shares.
models::ModelOptions generator_options(const GeneratorOptions& wanted,
                                       const models::ModelOptions& discriminator);

/// The generator that such an objective wants beside the model; nothing of other objectives.
std::optional<models::ModelOptions> generator_beside(const models::ModelOptions& model,
                                                     const ObjectiveOptions& objective);

/// What the generator learns meanwhile.
ObjectiveOptions generator_task(const ObjectiveOptions& objective);

/// The keys of an objective of type replaced_token. Throws config::Error.
void read_replaced_token(config::Section& section, ReplacedTokenOptions& options);

}  // namespace weft::objectives
