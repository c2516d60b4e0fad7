#pragma once

#include <cstdint>
#include <memory>

#include "data/dataset.h"

namespace weft::data {

/// Running text for the next token, of which a first part is shown, not guessed (prefix LM,
/// arXiv:1910.10683, section 3.2.1). Any token of an example of `whole` but the first may be the
/// first one that is guessed: which, is a function of (seed, epoch, item).
std::shared_ptr<const Dataset> make_prefix_dataset(std::shared_ptr<const Dataset> whole,
                                                   uint64_t seed);

}  // namespace weft::data
