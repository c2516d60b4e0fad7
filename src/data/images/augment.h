#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "data/images/image_options.h"
#include "data/images/image_resize.h"
#include "formats/image.h"

namespace weft::data {

/// Output size of augmentation, and how images are resized to it.
struct AugmentTarget {
  int64_t height = 0;
  int64_t width = 0;
  Resample resample = Resample::kBilinear;
};

/// Augments an image for one epoch: random crop and resize, flips, RandAugment, colour jitter.
/// Disabled augmentations draw no random numbers.
formats::Image augment_image(const formats::Image& image,
                             const AugmentOptions& options,
                             const AugmentTarget& target,
                             Random& random);

/// Draws a crop with area and aspect ratio in the given ranges, in ten tries as in torchvision;
/// else returns the largest centred one.
Box random_crop_box(const formats::ImageSize& size, const AugmentOptions& options, Random& random);

/// With this probability sets a random rectangle of the planes (C, H, W) to zero; at most a third
/// of the area (arXiv:1708.04896).
void random_erase(std::vector<float>& planes,
                  const formats::ImageSize& size,
                  double probability,
                  Random& random);

/// Mixing of an image with another one.
struct MixParameters {
  double lambda = 1;  // weight of the image itself: of its pixel values, or of its area
  Box box = {};       // CutMix: region taken from the other image; height 0: Mixup
};
MixParameters sample_mix(const AugmentOptions& options,
                         const formats::ImageSize& size,
                         Random& random);
/// Mixes planes (C, H, W) of the same size.
void blend_images(std::vector<float>& planes,
                  const std::vector<float>& other,
                  const formats::ImageSize& size,
                  const MixParameters& mix);

}  // namespace weft::data
