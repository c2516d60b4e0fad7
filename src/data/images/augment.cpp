#include "data/images/augment.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "data/images/image_color.h"
#include "data/images/image_shift.h"

namespace weft::data {

namespace {

using formats::Image;
using formats::ImageSize;

double augment_between(double low, double high, Random& random) {
  return low + (high - low) * random.uniform_double();
}

bool happens(double chance, Random& random) {
  return chance > 0 && random.uniform_double() < chance;
}

Image in_target_size(const Image& image,
                     const AugmentOptions& options,
                     const AugmentTarget& target,
                     Random& random) {
  if (options.crop_area) {
    const auto box = random_box({image.height, image.width}, options, random);
    return resized(cropped(image, box), target.height, target.width, target.resample);
  }
  const auto whole = resized(image, target.height, target.width, target.resample);
  if (options.pad_crop == 0) {
    return whole;
  }
  const auto shift = static_cast<uint64_t>(2 * options.pad_crop + 1);
  const auto top = static_cast<int64_t>(random.below(shift));
  const auto left = static_cast<int64_t>(random.below(shift));
  return cropped(padded(whole, options.pad_crop), {top, left, target.height, target.width});
}

/// One of RandAugment's operations with its strength from 0 to 1, which may turn either way.
Image rand_operation(const Image& image, double strength, Random& random) {
  const auto choice = random.below(14);
  const double sign = random.below(2) == 0 ? 1 : -1;
  const double change = 0.9 * strength * sign;
  switch (choice) {
    case 0:
      return image;
    case 1:
      return sheared_across(image, 0.3 * strength * sign);
    case 2:
      return sheared_down(image, 0.3 * strength * sign);
    case 3:
      return moved(image, 0.45 * strength * sign * static_cast<double>(image.width), 0);
    case 4:
      return moved(image, 0, 0.45 * strength * sign * static_cast<double>(image.height));
    case 5:
      return turned(image, 30 * strength * sign);
    case 6:
      return with_brightness(image, 1 + change);
    case 7:
      return with_saturation(image, 1 + change);
    case 8:
      return with_contrast(image, 1 + change);
    case 9:
      return with_sharpness(image, 1 + change);
    case 10:
      return posterized(image, 8 - std::lround(4 * strength));
    case 11:
      return solarized(image, std::lround(256 * (1 - strength)));
    case 12:
      return stretched(image);
    default:
      return equalized(image);
  }
}

/// Brightness, contrast, saturation and hue, in an order drawn anew.
Image jittered(Image image, const AugmentOptions& options, Random& random) {
  std::vector<std::function<Image(const Image&)>> changes;
  const auto add = [&](double width, Image (*change)(const Image&, double)) {
    if (width > 0) {
      const double factor = augment_between(std::max(0.0, 1 - width), 1 + width, random);
      changes.emplace_back([=](const Image& from) { return change(from, factor); });
    }
  };
  add(options.brightness, with_brightness);
  add(options.contrast, with_contrast);
  add(options.saturation, with_saturation);
  if (options.hue > 0) {
    const double turn = augment_between(-options.hue, options.hue, random);
    changes.emplace_back([=](const Image& from) { return with_hue(from, turn); });
  }
  for (std::size_t i = changes.size(); i > 1; --i) {
    std::swap(changes[i - 1], changes[random.below(i)]);
  }
  for (const auto& change : changes) {
    image = change(image);
  }
  return image;
}

/// Of shape a and scale 1 (Marsaglia and Tsang, "A simple method for generating gamma variables",
/// 2000).
double gamma(double a, Random& random) {
  if (a < 1) {
    const double u = random.uniform_double();
    return gamma(a + 1, random) * std::pow(u, 1 / a);
  }
  const double d = a - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal();
    const double v = std::pow(1 + c * x, 3);
    const double u = random.uniform_double();
    if (v > 0 && std::log(std::max(u, 1e-300)) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

double beta(double alpha, Random& random) {
  const double a = gamma(alpha, random);
  const double b = gamma(alpha, random);
  return a + b > 0 ? a / (a + b) : 0.5;
}

}  // namespace

Box random_box(const ImageSize& size, const AugmentOptions& options, Random& random) {
  constexpr int kTries = 10;
  const auto [least, most] = *options.crop_area;
  const double low = std::log(options.crop_ratio[0]);
  const double high = std::log(options.crop_ratio[1]);
  const double area = static_cast<double>(size.height * size.width);
  for (int i = 0; i < kTries; ++i) {
    const double wanted = area * augment_between(least, most, random);
    const double ratio = std::exp(augment_between(low, high, random));
    const auto width = static_cast<int64_t>(std::lround(std::sqrt(wanted * ratio)));
    const auto height = static_cast<int64_t>(std::lround(std::sqrt(wanted / ratio)));
    if (width > 0 && height > 0 && width <= size.width && height <= size.height) {
      const auto top =
          static_cast<int64_t>(random.below(static_cast<uint64_t>(size.height - height + 1)));
      const auto left =
          static_cast<int64_t>(random.below(static_cast<uint64_t>(size.width - width + 1)));
      return {top, left, height, width};
    }
  }
  const double ratio = static_cast<double>(size.width) / static_cast<double>(size.height);
  const double kept = std::clamp(ratio, options.crop_ratio[0], options.crop_ratio[1]);
  const auto height =
      std::clamp<int64_t>(std::lround(std::min(static_cast<double>(size.height),
                                               static_cast<double>(size.width) / kept)),
                          1, size.height);
  const auto width =
      std::clamp<int64_t>(std::lround(std::min(static_cast<double>(size.width),
                                               static_cast<double>(size.height) * kept)),
                          1, size.width);
  return {(size.height - height) / 2, (size.width - width) / 2, height, width};
}

Image augmented(const Image& image,
                const AugmentOptions& options,
                const AugmentTarget& target,
                Random& random) {
  constexpr double kMostMagnitude = 30;
  auto made = in_target_size(image, options, target, random);
  if (happens(options.flip, random)) {
    made = mirrored(made);
  }
  if (happens(options.vertical_flip, random)) {
    made = upside_down(made);
  }
  for (int64_t i = 0; i < options.rand_operations; ++i) {
    made =
        rand_operation(made, static_cast<double>(options.rand_magnitude) / kMostMagnitude, random);
  }
  return jittered(std::move(made), options, random);
}

void erase(std::vector<float>& planes, const ImageSize& size, double chance, Random& random) {
  if (!happens(chance, random)) {
    return;
  }
  const AugmentOptions shape{.crop_area = std::array{0.02, 1.0 / 3}, .crop_ratio = {0.3, 1 / 0.3}};
  const auto box = random_box(size, shape, random);
  if (box.height == size.height && box.width == size.width) {
    return;  // no such rectangle was found
  }
  const auto area = static_cast<std::size_t>(size.height * size.width);
  for (std::size_t plane = 0; plane < planes.size(); plane += area) {
    for (int64_t y = box.top; y < box.top + box.height; ++y) {
      const auto begin = plane + static_cast<std::size_t>(y * size.width + box.left);
      std::fill_n(planes.begin() + static_cast<std::ptrdiff_t>(begin), box.width, 0.0F);
    }
  }
}

Mix draw_mix(const AugmentOptions& options, const ImageSize& size, Random& random) {
  if (!options.mixes() || !happens(options.mix_chance, random)) {
    return {};
  }
  const bool cuts = options.cutmix > 0 && (options.mixup == 0 || random.below(2) == 0);
  if (!cuts) {
    return {.share = beta(options.mixup, random)};
  }
  const double side = std::sqrt(1 - beta(options.cutmix, random));
  const auto height = static_cast<int64_t>(side * static_cast<double>(size.height));
  const auto width = static_cast<int64_t>(side * static_cast<double>(size.width));
  const auto y = static_cast<int64_t>(random.below(static_cast<uint64_t>(size.height)));
  const auto x = static_cast<int64_t>(random.below(static_cast<uint64_t>(size.width)));
  const auto top = std::max<int64_t>(0, y - height / 2);
  const auto left = std::max<int64_t>(0, x - width / 2);
  const Box box = {top, left, std::min(size.height, y + (height + 1) / 2) - top,
                   std::min(size.width, x + (width + 1) / 2) - left};
  if (box.height < 1 || box.width < 1) {
    return {};
  }
  const double taken = static_cast<double>(box.height * box.width);
  return {.share = 1 - taken / static_cast<double>(size.height * size.width), .box = box};
}

void blend(std::vector<float>& planes,
           const std::vector<float>& other,
           const ImageSize& size,
           const Mix& mix) {
  if (mix.box.height == 0) {
    const auto share = static_cast<float>(mix.share);
    for (std::size_t i = 0; i < planes.size(); ++i) {
      planes[i] = share * planes[i] + (1 - share) * other[i];
    }
    return;
  }
  const auto area = static_cast<std::size_t>(size.height * size.width);
  for (std::size_t plane = 0; plane < planes.size(); plane += area) {
    for (int64_t y = mix.box.top; y < mix.box.top + mix.box.height; ++y) {
      const auto begin = static_cast<std::ptrdiff_t>(plane) + y * size.width + mix.box.left;
      std::copy_n(other.begin() + begin, mix.box.width, planes.begin() + begin);
    }
  }
}

}  // namespace weft::data
