#pragma once

#include <cstdint>

#include "formats/image.h"

/// Changes of colours, with the arithmetic of Pillow's ImageEnhance and ImageOps.
namespace weft::data {

/// 0: black, 1: as it is, more: brighter.
formats::Image with_brightness(const formats::Image& image, double factor);
/// 0: the mean grey.
formats::Image with_contrast(const formats::Image& image, double factor);
/// 0: grey; grey images stay as they are.
formats::Image with_saturation(const formats::Image& image, double factor);
/// 0: smoothed.
formats::Image with_sharpness(const formats::Image& image, double factor);
/// Turns the circle of hues, in shares of it; grey images stay as they are.
formats::Image with_hue(const formats::Image& image, double turn);

/// Keeps that many high bits of each value.
formats::Image posterized(const formats::Image& image, int64_t bits);
/// Turns values from the threshold on into their negatives.
formats::Image solarized(const formats::Image& image, int64_t threshold);
/// Stretches each channel to the whole range.
formats::Image stretched(const formats::Image& image);
/// Spreads each channel's values evenly.
formats::Image equalized(const formats::Image& image);

}  // namespace weft::data
