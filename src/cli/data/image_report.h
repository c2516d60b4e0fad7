#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"

namespace weft::cli {

/// An image as the model sees it, in signs of rising darkness, at most 64 a line; hidden patches
/// are dots of a middle height.
std::string show_image(const data::Example& example, int64_t patch);

/// Images, sizes, classes, and the mean and deviation of the pixels as the model sees them, by
/// channel, of the first `most` images of an epoch.
std::string show_images(const data::Dataset& dataset,
                        const std::vector<std::string>& labels,
                        int64_t patch,
                        int64_t most);

/// `, label 7`; of a mixed image the share of each class.
std::string show_classes(const data::Example& example, const std::vector<std::string>& labels);

}  // namespace weft::cli
