#pragma once

#include <cstdint>

#include "data/images/image_options.h"
#include "formats/image.h"

namespace weft::data {

/// Resizes 8-bit images like Pillow and torchvision with antialiasing: the filter is widened by the
/// scale when shrinking, rows are filtered first, with rounding between the two passes. The bytes
/// equal Pillow's; where Pillow filters columns first they differ by at most 1.
formats::Image resize_image(const formats::Image& image,
                            int64_t height,
                            int64_t width,
                            Resample kind);

/// A rectangle of an image.
struct Box {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;

  bool operator==(const Box&) const = default;
};

/// The box must lie within the image.
formats::Image crop_image(const formats::Image& image, const Box& box);

/// Converts grey to three equal channels, or colour to grey (ITU-R 601-2, like Pillow).
formats::Image convert_channels(const formats::Image& image, int64_t channels);

}  // namespace weft::data
