#pragma once

#include <optional>

#include "data/images/image_options.h"
#include "objectives/data/datasets.h"

namespace weft::objectives {

/// Images with their classes or, with `mask`, with hidden patches and no classes. The tokenizer of
/// the inputs is that of pixels.
Datasets image_datasets(const DatasetInputs& inputs,
                        const std::optional<data::MaskedImageOptions>& mask = {});

}  // namespace weft::objectives
