#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type causal: predicts the next token from all tokens before it in the sequence. Its evaluation
/// adds metrics that do not depend on the tokenizer: eval_word_perplexity, eval_bits_per_byte and
/// eval_bits_per_character, if the data count the text of their tokens, and the counts used for
/// these.
std::unique_ptr<Objective> make_causal_lm();
std::unique_ptr<Objective> read_causal_lm(config::Section& section);

}  // namespace weft::objectives
