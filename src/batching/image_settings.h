#pragma once

#include "data/images/image_dataset.h"
#include "data/images/image_options.h"
#include "data/tokenizer.h"
#include "models/config/options.h"

namespace weft::batching {

/// The model's image settings, without training options. `pixels`: data/images/image_format.h.
data::ImageSettings image_settings(const models::ModelOptions& model,
                                   const data::ImageOptions& options,
                                   const data::Tokenizer& pixels);

}  // namespace weft::batching
