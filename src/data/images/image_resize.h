#pragma once

#include <cstdint>

#include "data/images/image_options.h"
#include "formats/image.h"

namespace weft::data {

/// As the public tools resize pictures of bytes (Pillow, torchvision with antialiasing): the filter
/// is as wide as the picture shrinks, rows first, rounded between the two. The bytes are Pillow's;
/// where it takes the columns first they differ by at most 1.
formats::Image resized(const formats::Image& image, int64_t height, int64_t width, Resample kind);

/// A part of an image.
struct Box {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;

  bool operator==(const Box&) const = default;
};

/// The part must lie within the image.
formats::Image cropped(const formats::Image& image, const Box& box);

/// Grey to three alike, colours to grey (ITU-R 601-2, as Pillow does).
formats::Image with_channels(const formats::Image& image, int64_t channels);

}  // namespace weft::data
