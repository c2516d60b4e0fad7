#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/objective.h"
#include "objectives/replaced_token_options.h"

namespace weft::objectives {

/// Type replaced_token: ELECTRA (arXiv:2003.10555, section 2): masked tokens are replaced by
/// samples of a generator; the model, a discriminator, predicts for every token whether it differs
/// from the original. The terms are `generator` and, times its weight, `discriminator`. Sampling
/// passes no gradient. The model must have a generator (models/generator.h).
std::unique_ptr<Objective> make_replaced_token(const ReplacedTokenOptions& options = {});
std::unique_ptr<Objective> read_replaced_token(config::Section& section);

}  // namespace weft::objectives
