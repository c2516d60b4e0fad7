#pragma once

#include <array>
#include <cstdint>

#include "data/images/image_resize.h"
#include "formats/image.h"

namespace weft::data {

formats::Image mirrored(const formats::Image& image);     // left and right change places
formats::Image upside_down(const formats::Image& image);  // above and below

/// With a border of black pixels on all sides.
formats::Image padded(const formats::Image& image, int64_t border);

/// The image of the same size whose pixel (x, y) is what lies at (a x + b y + c, d x + e y + f),
/// places counted at the pixels' middles, between four pixels by their distance; black beyond the
/// border. As Pillow's Image.transform with AFFINE and BILINEAR.
formats::Image mapped_to(const formats::Image& image, const std::array<double, 6>& map);

/// Turned counter-clockwise around its middle.
formats::Image turned(const formats::Image& image, double degrees);
formats::Image sheared_across(const formats::Image& image, double share);
formats::Image sheared_down(const formats::Image& image, double share);
formats::Image moved(const formats::Image& image, double right, double down);

}  // namespace weft::data
