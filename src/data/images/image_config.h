#pragma once

#include "config/section.h"
#include "data/data_options.h"

/// The keys of `data:` that only images use.
namespace weft::data {

/// Keys of an item of data.train or data.evaluate.
void read_image_item(config::Section& section, ImageItem& item);
/// `data.images:` and `data.augment:`. Throws config::Error.
void read_image_options(config::Section& section, ImageOptions& options);
void read_augment_options(config::Section& section, AugmentOptions& options);

/// Values of `data.images.resample`.
const config::Choices<Resample>& resample_choices();

}  // namespace weft::data
