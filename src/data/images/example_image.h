#pragma once

#include <cstdint>

#include "data/batch.h"
#include "data/images/image_format.h"
#include "formats/image.h"

namespace weft::data {

/// The image of an example's patches, as the model sees it: of the size and with the colours before
/// normalisation. Hidden patches are grey or, if `shows_hidden`, as they are.
formats::Image example_image(const Example& example,
                             int64_t patch,
                             const ImagePreprocessorConfig& format,
                             bool shows_hidden = false);

}  // namespace weft::data
