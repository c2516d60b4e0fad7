#pragma once

#include <cstdint>
#include <memory>

#include "data/dataset.h"

namespace weft::data {

/// Next-token prediction where a first part of the text is given as a prefix (prefix LM,
/// arXiv:1910.10683, section 3.2.1). The first predicted token may be any token of an example of
/// `whole` but the first; the choice is a function of (seed, epoch, item).
std::shared_ptr<const Dataset> make_prefix_dataset(std::shared_ptr<const Dataset> whole,
                                                   uint64_t seed);

}  // namespace weft::data
