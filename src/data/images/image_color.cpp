#include "data/images/image_color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "data/images/image_resize.h"

namespace weft::data {

namespace {

using formats::Image;
using ImageColorTable = std::array<uint8_t, 256>;

/// Interpolates or extrapolates between images; truncated to bytes, not rounded, as in Pillow.
Image interpolate_images(const Image& from, const Image& to, double factor) {
  Image result = to;
  const auto alpha = static_cast<float>(factor);
  for (std::size_t i = 0; i < result.pixels.size(); ++i) {
    const int difference = to.pixels[i] - from.pixels[i];
    const float value = static_cast<float>(from.pixels[i]) + alpha * static_cast<float>(difference);
    result.pixels[i] = static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F));
  }
  return result;
}

Image full_like(const Image& image, uint8_t value) {
  Image result = image;
  std::fill(result.pixels.begin(), result.pixels.end(), value);
  return result;
}

std::array<int64_t, 256> histogram(const Image& image, int64_t channel) {
  std::array<int64_t, 256> counts{};
  for (auto i = static_cast<std::size_t>(channel); i < image.pixels.size();
       i += static_cast<std::size_t>(image.channels)) {
    ++counts[image.pixels[i]];
  }
  return counts;
}

Image apply_lookup_table(const Image& image,
                         const std::function<ImageColorTable(int64_t channel)>& table_for_channel) {
  Image result = image;
  for (int64_t channel = 0; channel < image.channels; ++channel) {
    const auto table = table_for_channel(channel);
    for (auto i = static_cast<std::size_t>(channel); i < result.pixels.size();
         i += static_cast<std::size_t>(image.channels)) {
      result.pixels[i] = table[result.pixels[i]];
    }
  }
  return result;
}

ImageColorTable make_lookup_table(const std::function<int64_t(int64_t)>& value_of) {
  ImageColorTable table{};
  for (int64_t i = 0; i < 256; ++i) {
    table[static_cast<std::size_t>(i)] =
        static_cast<uint8_t>(std::clamp<int64_t>(value_of(i), 0, 255));
  }
  return table;
}

/// 3x3 filter with weight 5 in the centre and 1 elsewhere; the border is unchanged.
Image smooth(const Image& image) {
  Image result = image;
  const int64_t row = image.width * image.channels;
  for (int64_t y = 1; y + 1 < image.height; ++y) {
    for (int64_t i = image.channels; i + image.channels < row; ++i) {
      const auto* center = image.pixels.data() + y * row + i;
      float sum = 0.5F;
      for (const int64_t line : {row, int64_t{0}, -row}) {
        for (const int64_t side : {-image.channels, int64_t{0}, image.channels}) {
          const bool is_center = line == 0 && side == 0;
          sum += static_cast<float>(center[line + side]) * ((is_center ? 5.0F : 1.0F) / 13.0F);
        }
      }
      result.pixels[static_cast<std::size_t>(y * row + i)] =
          static_cast<uint8_t>(std::clamp(sum, 0.0F, 255.0F));
    }
  }
  return result;
}

struct Hsv {
  double hue = 0;  // fraction of the circle
  double saturation = 0;
  double value = 0;
};

Hsv rgb_to_hsv(const uint8_t* pixel) {
  const double r = pixel[0];
  const double g = pixel[1];
  const double b = pixel[2];
  const double max_value = std::max({r, g, b});
  const double span = max_value - std::min({r, g, b});
  if (span == 0) {
    return {.value = max_value};
  }
  const double sector = max_value == r   ? (g - b) / span
                        : max_value == g ? 2 + (b - r) / span
                                         : 4 + (r - g) / span;
  return {.hue = sector / 6 - std::floor(sector / 6),
          .saturation = span / max_value,
          .value = max_value};
}

void hsv_to_rgb(const Hsv& color, uint8_t* pixel) {
  const auto channel = [&](double shift) {
    const double k = std::fmod(shift + color.hue * 6, 6.0);
    const double value =
        color.value * (1 - color.saturation * std::clamp(std::min(k, 4 - k), 0.0, 1.0));
    return static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
  };
  pixel[0] = channel(5);
  pixel[1] = channel(3);
  pixel[2] = channel(1);
}

}  // namespace

Image adjust_brightness(const Image& image, double factor) {
  return interpolate_images(full_like(image, 0), image, factor);
}

Image adjust_contrast(const Image& image, double factor) {
  const auto grey = convert_channels(image, 1);
  const auto sum = std::accumulate(grey.pixels.begin(), grey.pixels.end(), int64_t{0});
  const auto mean =
      static_cast<double>(sum) / static_cast<double>(std::max<std::size_t>(1, grey.pixels.size()));
  return interpolate_images(full_like(image, static_cast<uint8_t>(mean + 0.5)), image, factor);
}

Image adjust_saturation(const Image& image, double factor) {
  if (image.channels == 1) {
    return image;
  }
  return interpolate_images(convert_channels(convert_channels(image, 1), 3), image, factor);
}

Image adjust_sharpness(const Image& image, double factor) {
  return interpolate_images(smooth(image), image, factor);
}

Image adjust_hue(const Image& image, double hue_factor) {
  if (image.channels == 1 || hue_factor == 0) {
    return image;
  }
  Image result = image;
  for (std::size_t i = 0; i < result.pixels.size(); i += 3) {
    auto color = rgb_to_hsv(image.pixels.data() + i);
    color.hue = color.hue + hue_factor - std::floor(color.hue + hue_factor);
    hsv_to_rgb(color, result.pixels.data() + i);
  }
  return result;
}

Image posterize(const Image& image, int64_t bits) {
  const int64_t mask = 255 & ~((int64_t{1} << (8 - bits)) - 1);
  return apply_lookup_table(
      image, [&](int64_t) { return make_lookup_table([&](int64_t i) { return i & mask; }); });
}

Image solarize(const Image& image, int64_t threshold) {
  return apply_lookup_table(image, [&](int64_t) {
    return make_lookup_table([&](int64_t i) { return i < threshold ? i : 255 - i; });
  });
}

Image autocontrast(const Image& image) {
  return apply_lookup_table(image, [&](int64_t channel) {
    const auto counts = histogram(image, channel);
    int64_t low = 0;
    int64_t high = 255;
    while (low < 255 && counts[static_cast<std::size_t>(low)] == 0) {
      ++low;
    }
    while (high > 0 && counts[static_cast<std::size_t>(high)] == 0) {
      --high;
    }
    if (high <= low) {
      return make_lookup_table([](int64_t i) { return i; });
    }
    const double scale = 255.0 / static_cast<double>(high - low);
    const double offset = -static_cast<double>(low) * scale;
    return make_lookup_table(
        [&](int64_t i) { return static_cast<int64_t>(static_cast<double>(i) * scale + offset); });
  });
}

Image equalize(const Image& image) {
  return apply_lookup_table(image, [&](int64_t channel) {
    const auto counts = histogram(image, channel);
    const auto last = std::find_if(counts.rbegin(), counts.rend(), [](auto n) { return n > 0; });
    const auto total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    const int64_t step = last == counts.rend() ? 0 : (total - *last) / 255;
    if (step == 0) {
      return make_lookup_table([](int64_t i) { return i; });
    }
    ImageColorTable table{};
    int64_t sum = step / 2;
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = static_cast<uint8_t>(std::clamp<int64_t>(sum / step, 0, 255));
      sum += counts[i];
    }
    return table;
  });
}

}  // namespace weft::data
