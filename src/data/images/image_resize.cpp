#include "data/images/image_resize.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

namespace weft::data {

namespace {

using formats::Image;

constexpr int kBits = 22;  // fractional bits of a weight: 32 bits minus a pixel's 8, with headroom

double triangle_filter(double x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}

/// Keys' cubic with a = -1/2.
double cubic_filter(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) {
    return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  }
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

/// Source pixels of one output pixel of a line, and their weights.
struct FilterTaps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<FilterTaps> filter_taps(int64_t from, int64_t to, Resample kind) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double filter_scale = std::max(scale, 1.0);
  const double support = (kind == Resample::kBicubic ? 2.0 : 1.0) * filter_scale;
  std::vector<FilterTaps> all(static_cast<std::size_t>(to));
  std::vector<double> weights;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto last = std::min(from, static_cast<int64_t>(center + support + 0.5));
    weights.clear();
    double sum = 0;
    for (int64_t x = first; x < last; ++x) {
      const double position = (static_cast<double>(x) - center + 0.5) / filter_scale;
      weights.push_back(kind == Resample::kBicubic ? cubic_filter(position)
                                                   : triangle_filter(position));
      sum += weights.back();
    }
    auto& taps = all[static_cast<std::size_t>(i)];
    taps.first = first;
    for (const double weight : weights) {
      const double fixed = (sum != 0 ? weight / sum : weight) * (1 << kBits);
      taps.weights.push_back(static_cast<int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
    }
  }
  return all;
}

uint8_t round_to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255));
}

Image resize_horizontally(const Image& image, int64_t width, Resample kind) {
  const auto all = filter_taps(image.width, width, kind);
  const int64_t channels = image.channels;
  Image result{.height = image.height, .width = width, .channels = channels, .pixels = {}};
  result.pixels.resize(static_cast<std::size_t>(image.height * width * channels));
  auto* out = result.pixels.data();
  for (int64_t y = 0; y < image.height; ++y) {
    const auto* row = image.pixels.data() + y * image.width * channels;
    for (const auto& taps : all) {
      for (int64_t c = 0; c < channels; ++c) {
        const auto* in = row + taps.first * channels + c;
        int32_t sum = 1 << (kBits - 1);
        for (const int32_t weight : taps.weights) {
          sum += *in * weight;
          in += channels;
        }
        *out++ = round_to_byte(sum);
      }
    }
  }
  return result;
}

Image resize_vertically(const Image& image, int64_t height, Resample kind) {
  const auto all = filter_taps(image.height, height, kind);
  const int64_t row = image.width * image.channels;
  Image result{.height = height, .width = image.width, .channels = image.channels, .pixels = {}};
  result.pixels.resize(static_cast<std::size_t>(height * row));
  std::vector<int32_t> sums(static_cast<std::size_t>(row));
  auto* out = result.pixels.data();
  for (const auto& taps : all) {
    std::fill(sums.begin(), sums.end(), 1 << (kBits - 1));
    const auto* in = image.pixels.data() + taps.first * row;
    for (const int32_t weight : taps.weights) {
      for (auto& sum : sums) {
        sum += *in++ * weight;
      }
    }
    out = std::transform(sums.begin(), sums.end(), out, round_to_byte);
  }
  return result;
}

/// Source pixel of each output pixel. Accumulated, not multiplied, as in Pillow: this affects ties.
std::vector<int64_t> nearest_indices(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  std::vector<int64_t> indices;
  double position = scale * 0.5;
  for (int64_t i = 0; i < to; ++i, position += scale) {
    indices.push_back(std::min(from - 1, static_cast<int64_t>(position)));
  }
  return indices;
}

Image nearest_pixel(const Image& image, int64_t height, int64_t width) {
  Image result{.height = height, .width = width, .channels = image.channels, .pixels = {}};
  result.pixels.reserve(static_cast<std::size_t>(height * width * image.channels));
  const auto columns = nearest_indices(image.width, width);
  for (const int64_t y : nearest_indices(image.height, height)) {
    const auto* row = image.pixels.data() + y * image.width * image.channels;
    for (const int64_t x : columns) {
      const auto* pixel = row + x * image.channels;
      result.pixels.insert(result.pixels.end(), pixel, pixel + image.channels);
    }
  }
  return result;
}

}  // namespace

Image resize_image(const Image& image, int64_t height, int64_t width, Resample kind) {
  if (image.pixels.empty() || height < 1 || width < 1) {
    throw std::invalid_argument("resized: empty image");
  }
  if (kind == Resample::kNearest) {
    return nearest_pixel(image, height, width);
  }
  auto result = width != image.width ? resize_horizontally(image, width, kind) : image;
  return height != result.height ? resize_vertically(result, height, kind) : result;
}

Image crop_image(const Image& image, const Box& box) {
  const bool fits = box.top >= 0 && box.left >= 0 && box.height >= 1 && box.width >= 1 &&
                    box.top + box.height <= image.height && box.left + box.width <= image.width;
  if (!fits) {
    throw std::invalid_argument("cropped: the crop is outside of the image");
  }
  Image result{.height = box.height, .width = box.width, .channels = image.channels, .pixels = {}};
  result.pixels.reserve(static_cast<std::size_t>(box.height * box.width * image.channels));
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    const auto* begin = image.pixels.data() + (y * image.width + box.left) * image.channels;
    result.pixels.insert(result.pixels.end(), begin, begin + box.width * image.channels);
  }
  return result;
}

Image convert_channels(const Image& image, int64_t channels) {
  if (image.channels == channels) {
    return image;
  }
  Image result{.height = image.height, .width = image.width, .channels = channels, .pixels = {}};
  const auto area = static_cast<std::size_t>(image.height * image.width);
  result.pixels.reserve(area * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < area; ++i) {
    if (channels == 1) {
      const auto* pixel = image.pixels.data() + 3 * i;
      result.pixels.push_back(static_cast<uint8_t>(
          (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16));
    } else {
      result.pixels.insert(result.pixels.end(), 3, image.pixels[i]);
    }
  }
  return result;
}

}  // namespace weft::data
