#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"

namespace weft::cli {

/// An image as the model sees it, as ASCII art: denser characters for higher values, at most 64 per
/// line; hidden patches are middle dots.
std::string show_image(const data::Example& example, int64_t patch);

/// Images, sizes, classes, and mean and standard deviation of the pixels per channel as the model
/// sees them, for the first `count` images of an epoch.
std::string show_images(const data::Dataset& dataset,
                        const std::vector<std::string>& labels,
                        int64_t patch,
                        int64_t count);

/// `, label 7`; for a mixed image the fraction of each class.
std::string show_classes(const data::Example& example, const std::vector<std::string>& labels);

}  // namespace weft::cli
