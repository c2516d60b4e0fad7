#pragma once

#include <cstdint>

#include "formats/image.h"

/// Colour operations, with the arithmetic of Pillow's ImageEnhance and ImageOps.
namespace weft::data {

/// 0: black, 1: unchanged, more: brighter.
formats::Image adjust_brightness(const formats::Image& image, double factor);
/// 0: the mean grey.
formats::Image adjust_contrast(const formats::Image& image, double factor);
/// 0: grey; grey images are unchanged.
formats::Image adjust_saturation(const formats::Image& image, double factor);
/// 0: smoothed.
formats::Image adjust_sharpness(const formats::Image& image, double factor);
/// Rotates the hue by a fraction of the circle; grey images are unchanged.
formats::Image adjust_hue(const formats::Image& image, double hue_factor);

/// Keeps the `bits` highest bits of each value.
formats::Image posterize(const formats::Image& image, int64_t bits);
/// Inverts values at or above the threshold.
formats::Image solarize(const formats::Image& image, int64_t threshold);
/// Stretches each channel to the full range.
formats::Image autocontrast(const formats::Image& image);
/// Equalizes the histogram of each channel.
formats::Image equalize(const formats::Image& image);

}  // namespace weft::data
