#pragma once

#include <memory>

#include "data/tokenizer.h"
#include "data/tokenizers/post_processor.h"

namespace weft::data {

/// The side of a tokenizer that differs in what stands around texts alone. `whole` must outlive it.
std::unique_ptr<const Tokenizer> make_template_side(const Tokenizer& whole, SequenceSteps steps);

}  // namespace weft::data
