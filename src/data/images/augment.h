#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "data/images/image_options.h"
#include "data/images/image_resize.h"
#include "formats/image.h"

namespace weft::data {

/// Size that augmented images have, and how they are brought to it.
struct AugmentTarget {
  int64_t height = 0;
  int64_t width = 0;
  Resample resample = Resample::kBilinear;
};

/// The image as one epoch sees it: cropped at random and brought to size, flipped, changed by
/// RandAugment and in its colours. What is not asked for draws nothing.
formats::Image augmented(const formats::Image& image,
                         const AugmentOptions& options,
                         const AugmentTarget& target,
                         Random& random);

/// A part of such an area and ratio of the sides, tried ten times as torchvision does; else the
/// largest around the middle.
Box random_box(const formats::ImageSize& size, const AugmentOptions& options, Random& random);

/// Sets a rectangle of the planes (C, H, W) to zero, by chance; of the area at most a third
/// (arXiv:1708.04896).
void erase(std::vector<float>& planes,
           const formats::ImageSize& size,
           double chance,
           Random& random);

/// How an image is mixed with another.
struct Mix {
  double share = 1;  // of the image itself: of its pixels' values, or of its area
  Box box = {};      // CutMix: taken from the other; height 0: Mixup
};
Mix draw_mix(const AugmentOptions& options, const formats::ImageSize& size, Random& random);
/// Of planes (C, H, W) of one size.
void blend(std::vector<float>& planes,
           const std::vector<float>& other,
           const formats::ImageSize& size,
           const Mix& mix);

}  // namespace weft::data
