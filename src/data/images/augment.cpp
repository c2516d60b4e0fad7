#include "data/images/augment.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "data/images/affine.h"
#include "data/images/image_color.h"

namespace weft::data {

namespace {

using formats::Image;
using formats::ImageSize;

double augment_between(double low, double high, Random& random) {
  return low + (high - low) * random.uniform_double();
}

bool bernoulli(double probability, Random& random) {
  return probability > 0 && random.uniform_double() < probability;
}

Image crop_to_target(const Image& image,
                     const AugmentOptions& options,
                     const AugmentTarget& target,
                     Random& random) {
  if (options.crop_scale) {
    const auto box = random_crop_box({image.height, image.width}, options, random);
    return resize_image(crop_image(image, box), target.height, target.width, target.resample);
  }
  const auto whole = resize_image(image, target.height, target.width, target.resample);
  if (options.pad_crop == 0) {
    return whole;
  }
  const auto shift = static_cast<uint64_t>(2 * options.pad_crop + 1);
  const auto top = static_cast<int64_t>(random.uniform_int(shift));
  const auto left = static_cast<int64_t>(random.uniform_int(shift));
  return crop_image(pad_image(whole, options.pad_crop), {top, left, target.height, target.width});
}

/// Applies one random RandAugment operation with strength 0 to 1, in a random direction.
Image apply_rand_augment_operation(const Image& image, double strength, Random& random) {
  const auto choice = random.uniform_int(14);
  const double sign = random.uniform_int(2) == 0 ? 1 : -1;
  const double change = 0.9 * strength * sign;
  switch (choice) {
    case 0:
      return image;
    case 1:
      return shear_x(image, 0.3 * strength * sign);
    case 2:
      return shear_y(image, 0.3 * strength * sign);
    case 3:
      return translate_image(image, 0.45 * strength * sign * static_cast<double>(image.width), 0);
    case 4:
      return translate_image(image, 0, 0.45 * strength * sign * static_cast<double>(image.height));
    case 5:
      return rotate_image(image, 30 * strength * sign);
    case 6:
      return adjust_brightness(image, 1 + change);
    case 7:
      return adjust_saturation(image, 1 + change);
    case 8:
      return adjust_contrast(image, 1 + change);
    case 9:
      return adjust_sharpness(image, 1 + change);
    case 10:
      return posterize(image, 8 - std::lround(4 * strength));
    case 11:
      return solarize(image, std::lround(256 * (1 - strength)));
    case 12:
      return autocontrast(image);
    default:
      return equalize(image);
  }
}

/// Changes brightness, contrast, saturation and hue, in random order.
Image color_jitter(Image image, const AugmentOptions& options, Random& random) {
  std::vector<std::function<Image(const Image&)>> changes;
  const auto add = [&](double width, Image (*change)(const Image&, double)) {
    if (width > 0) {
      const double factor = augment_between(std::max(0.0, 1 - width), 1 + width, random);
      changes.emplace_back([=](const Image& from) { return change(from, factor); });
    }
  };
  add(options.brightness, adjust_brightness);
  add(options.contrast, adjust_contrast);
  add(options.saturation, adjust_saturation);
  if (options.hue > 0) {
    const double hue_factor = augment_between(-options.hue, options.hue, random);
    changes.emplace_back([=](const Image& from) { return adjust_hue(from, hue_factor); });
  }
  for (std::size_t i = changes.size(); i > 1; --i) {
    std::swap(changes[i - 1], changes[random.uniform_int(i)]);
  }
  for (const auto& change : changes) {
    image = change(image);
  }
  return image;
}

/// Gamma sample with shape a and scale 1 (Marsaglia and Tsang, "A simple method for generating
/// gamma variables", 2000).
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

Box random_crop_box(const ImageSize& size, const AugmentOptions& options, Random& random) {
  constexpr int kTries = 10;
  const auto [min_area, max_area] = *options.crop_scale;
  const double low = std::log(options.crop_ratio[0]);
  const double high = std::log(options.crop_ratio[1]);
  const double area = static_cast<double>(size.height * size.width);
  for (int i = 0; i < kTries; ++i) {
    const double wanted = area * augment_between(min_area, max_area, random);
    const double ratio = std::exp(augment_between(low, high, random));
    const auto width = static_cast<int64_t>(std::lround(std::sqrt(wanted * ratio)));
    const auto height = static_cast<int64_t>(std::lround(std::sqrt(wanted / ratio)));
    if (width > 0 && height > 0 && width <= size.width && height <= size.height) {
      const auto top =
          static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(size.height - height + 1)));
      const auto left =
          static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(size.width - width + 1)));
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

Image augment_image(const Image& image,
                    const AugmentOptions& options,
                    const AugmentTarget& target,
                    Random& random) {
  constexpr double kMaxMagnitude = 30;
  auto result = crop_to_target(image, options, target, random);
  if (bernoulli(options.flip, random)) {
    result = flip_horizontally(result);
  }
  if (bernoulli(options.vertical_flip, random)) {
    result = flip_vertically(result);
  }
  for (int64_t i = 0; i < options.randaugment_num_ops; ++i) {
    result = apply_rand_augment_operation(
        result, static_cast<double>(options.randaugment_magnitude) / kMaxMagnitude, random);
  }
  return color_jitter(std::move(result), options, random);
}

void random_erase(std::vector<float>& planes,
                  const ImageSize& size,
                  double probability,
                  Random& random) {
  if (!bernoulli(probability, random)) {
    return;
  }
  const AugmentOptions shape{.crop_scale = std::array{0.02, 1.0 / 3}, .crop_ratio = {0.3, 1 / 0.3}};
  const auto box = random_crop_box(size, shape, random);
  if (box.height == size.height && box.width == size.width) {
    return;  // no such rectangle
  }
  const auto area = static_cast<std::size_t>(size.height * size.width);
  for (std::size_t plane = 0; plane < planes.size(); plane += area) {
    for (int64_t y = box.top; y < box.top + box.height; ++y) {
      const auto begin = plane + static_cast<std::size_t>(y * size.width + box.left);
      std::fill_n(planes.begin() + static_cast<std::ptrdiff_t>(begin), box.width, 0.0F);
    }
  }
}

MixParameters sample_mix(const AugmentOptions& options, const ImageSize& size, Random& random) {
  if (!options.mixes() || !bernoulli(options.mix_prob, random)) {
    return {};
  }
  const bool is_cutmix = options.cutmix > 0 && (options.mixup == 0 || random.uniform_int(2) == 0);
  if (!is_cutmix) {
    return {.lambda = beta(options.mixup, random)};
  }
  const double side = std::sqrt(1 - beta(options.cutmix, random));
  const auto height = static_cast<int64_t>(side * static_cast<double>(size.height));
  const auto width = static_cast<int64_t>(side * static_cast<double>(size.width));
  const auto y = static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(size.height)));
  const auto x = static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(size.width)));
  const auto top = std::max<int64_t>(0, y - height / 2);
  const auto left = std::max<int64_t>(0, x - width / 2);
  const Box box = {top, left, std::min(size.height, y + (height + 1) / 2) - top,
                   std::min(size.width, x + (width + 1) / 2) - left};
  if (box.height < 1 || box.width < 1) {
    return {};
  }
  const double taken = static_cast<double>(box.height * box.width);
  return {.lambda = 1 - taken / static_cast<double>(size.height * size.width), .box = box};
}

void blend_images(std::vector<float>& planes,
                  const std::vector<float>& other,
                  const ImageSize& size,
                  const MixParameters& mix) {
  if (mix.box.height == 0) {
    const auto lambda = static_cast<float>(mix.lambda);
    for (std::size_t i = 0; i < planes.size(); ++i) {
      planes[i] = lambda * planes[i] + (1 - lambda) * other[i];
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
