#pragma once

#include "config/section.h"
#include "data/data_options.h"

/// The keys of `data:` that images alone have.
namespace weft::data {

/// Of an item of data.train or data.evaluate.
void read_image_item(config::Section& section, ImageItem& item);
/// `data.images:` and `data.augment:`. Throws config::Error.
void read_image_options(config::Section& section, ImageOptions& options);
void read_augment_options(config::Section& section, AugmentOptions& options);

/// Words of `data.images.resample`.
const config::Choices<Resample>& resamplings();

}  // namespace weft::data
