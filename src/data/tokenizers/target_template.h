#pragma once

#include <memory>

#include "data/tokenizer.h"
#include "data/tokenizers/post_processor.h"

namespace weft::data {

/// View of a tokenizer that differs only in its special tokens. `whole` must outlive it.
std::unique_ptr<const Tokenizer> make_target_template(const Tokenizer& whole,
                                                      PostProcessorTemplate steps);

}  // namespace weft::data
