#pragma once

#include <array>
#include <cstdint>

#include "data/images/image_resize.h"
#include "formats/image.h"

namespace weft::data {

formats::Image flip_horizontally(const formats::Image& image);  // left to right
formats::Image flip_vertically(const formats::Image& image);    // top to bottom

/// Adds a border of black pixels on all sides.
formats::Image pad_image(const formats::Image& image, int64_t border);

/// Output pixel (x, y) is sampled at (a x + b y + c, d x + e y + f), in coordinates of pixel
/// centres, with bilinear interpolation; black outside the image. The size is unchanged. Like
/// Pillow's Image.transform with AFFINE and BILINEAR.
formats::Image affine_transform(const formats::Image& image, const std::array<double, 6>& matrix);

/// Rotates counter-clockwise around the centre.
formats::Image rotate_image(const formats::Image& image, double degrees);
formats::Image shear_x(const formats::Image& image, double factor);
formats::Image shear_y(const formats::Image& image, double factor);
formats::Image translate_image(const formats::Image& image, double right, double down);

}  // namespace weft::data
