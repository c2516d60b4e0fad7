#pragma once

#include <memory>

#include "objectives/objective.h"

namespace weft::objectives {

/// The next token, after all that stand before it in the sequence. Its evaluation adds what does
/// not depend on the tokenizer: eval_word_perplexity, eval_bits_per_byte and
/// eval_bits_per_character, where the data tell how much text their tokens are, and the counts
/// that these stand on.
std::unique_ptr<Objective> make_causal_objective(const ObjectiveOptions& options);

}  // namespace weft::objectives
