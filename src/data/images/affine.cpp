#include "data/images/affine.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::data {

namespace {

using formats::Image;

/// Returns an all-black image of this size.
Image black(int64_t height, int64_t width, int64_t channels) {
  return {.height = height,
          .width = width,
          .channels = channels,
          .pixels = std::vector<uint8_t>(static_cast<std::size_t>(height * width * channels))};
}

/// Bilinear interpolation at a position; coordinates beyond the border are clamped.
double image_shift_between(const Image& image, double x, double y, int64_t channel) {
  const auto value = [&](int64_t column, int64_t row) {
    column = std::clamp<int64_t>(column, 0, image.width - 1);
    row = std::clamp<int64_t>(row, 0, image.height - 1);
    return static_cast<double>(image.pixels[static_cast<std::size_t>(
        (row * image.width + column) * image.channels + channel)]);
  };
  const double left = std::floor(x);
  const double top = std::floor(y);
  const auto column = static_cast<int64_t>(left);
  const auto row = static_cast<int64_t>(top);
  const double above =
      value(column, row) + (value(column + 1, row) - value(column, row)) * (x - left);
  const double below =
      value(column, row + 1) + (value(column + 1, row + 1) - value(column, row + 1)) * (x - left);
  return above + (below - above) * (y - top);
}

}  // namespace

Image flip_horizontally(const Image& image) {
  Image result = image;
  for (int64_t y = 0; y < image.height; ++y) {
    const auto* row = image.pixels.data() + y * image.width * image.channels;
    auto* out = result.pixels.data() + y * image.width * image.channels;
    for (int64_t x = 0; x < image.width; ++x) {
      std::copy_n(row + (image.width - 1 - x) * image.channels, image.channels,
                  out + x * image.channels);
    }
  }
  return result;
}

Image flip_vertically(const Image& image) {
  Image result = image;
  const int64_t row = image.width * image.channels;
  for (int64_t y = 0; y < image.height; ++y) {
    std::copy_n(image.pixels.data() + (image.height - 1 - y) * row, row,
                result.pixels.data() + y * row);
  }
  return result;
}

Image pad_image(const Image& image, int64_t border) {
  auto result = black(image.height + 2 * border, image.width + 2 * border, image.channels);
  const int64_t row = image.width * image.channels;
  for (int64_t y = 0; y < image.height; ++y) {
    std::copy_n(image.pixels.data() + y * row, row,
                result.pixels.data() + ((y + border) * result.width + border) * image.channels);
  }
  return result;
}

Image affine_transform(const Image& image, const std::array<double, 6>& matrix) {
  auto result = black(image.height, image.width, image.channels);
  auto* out = result.pixels.data();
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x, out += image.channels) {
      const double middle_x = static_cast<double>(x) + 0.5;
      const double middle_y = static_cast<double>(y) + 0.5;
      const double from_x = matrix[0] * middle_x + matrix[1] * middle_y + matrix[2];
      const double from_y = matrix[3] * middle_x + matrix[4] * middle_y + matrix[5];
      const bool is_inside = from_x >= 0 && from_y >= 0 &&
                             from_x < static_cast<double>(image.width) &&
                             from_y < static_cast<double>(image.height);
      for (int64_t c = 0; is_inside && c < image.channels; ++c) {
        out[c] = static_cast<uint8_t>(image_shift_between(image, from_x - 0.5, from_y - 0.5, c));
      }
    }
  }
  return result;
}

Image rotate_image(const Image& image, double degrees) {
  const double angle = -degrees * std::numbers::pi / 180;
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  const double x = static_cast<double>(image.width) / 2;
  const double y = static_cast<double>(image.height) / 2;
  return affine_transform(
      image, {cosine, sine, x - cosine * x - sine * y, -sine, cosine, y + sine * x - cosine * y});
}

Image shear_x(const Image& image, double factor) {
  return affine_transform(image, {1, factor, 0, 0, 1, 0});
}

Image shear_y(const Image& image, double factor) {
  return affine_transform(image, {1, 0, 0, factor, 1, 0});
}

Image translate_image(const Image& image, double right, double down) {
  return affine_transform(image, {1, 0, -right, 0, 1, -down});
}

}  // namespace weft::data
