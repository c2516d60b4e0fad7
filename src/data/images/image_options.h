#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::data {

/// Content of an item's files.
enum class ImageKind {
  kFolder,   // one folder of image files per class
  kIdx,      // an IDX file of images, and one of labels
  kCifar10,  // records of one label and 32 x 32 pixels in three planes
  kCifar100,
  kPixels,  // a table of numbers, one image per row
  kTable,   // a table with paths of image files
};

/// Keys of an item of `data.train` with images.
struct ImageItem {
  std::optional<ImageKind> kind = std::nullopt;           // nullopt: inferred from the path
  std::optional<std::string> column = std::nullopt;       // kTable: column of image paths
  std::optional<std::string> labels_file = std::nullopt;  // kIdx; nullopt: inferred from the name
  int64_t white = 255;                                    // kPixels: value of a white pixel

  bool operator==(const ImageItem&) const = default;
};

enum class Resample { kNearest, kBilinear, kBicubic };

/// The `data.images:` section: image preprocessing, in training and inference.
struct ImageOptions {
  std::vector<double> image_mean;    // per channel; empty: init_from's, else 0.5
  std::vector<double> image_std;     // per channel
  std::optional<Resample> resample;  // nullopt: init_from's, else bilinear
  std::optional<double> crop_pct;  // centre crop, as a fraction of each side; nullopt: init_from's
  bool native_resolution = false;  // original sizes, in whole patches; else the model's size
  std::optional<int64_t>
      max_patches;  // with native_resolution; nullopt: as many as the model's size has

  bool operator==(const ImageOptions&) const = default;
};

/// The `data.augment:` section: training-time augmentation, a pure function of (seed, epoch, item).
struct AugmentOptions {
  std::optional<std::array<double, 2>> crop_scale;  // area of a random crop, fractions of the image
  std::array<double, 2> crop_ratio = {0.75, 4.0 / 3};  // width / height of the crop
  int64_t pad_crop = 0;  // pixels of padding on each side before a crop
  double flip = 0;       // probability
  double vertical_flip = 0;
  int64_t randaugment_num_ops =
      0;  // RandAugment (arXiv:1909.13719): operations applied per image; 0: none
  int64_t randaugment_magnitude = 9;  // out of 30
  double brightness = 0;              // factors from 1 - x to 1 + x
  double contrast = 0;
  double saturation = 0;
  double hue = 0;             // rotation by -x to x
  double erase = 0;           // probability of random erasing (arXiv:1708.04896)
  double mixup = 0;           // alpha of Mixup (arXiv:1710.09412); 0: none
  double cutmix = 0;          // alpha of CutMix (arXiv:1905.04899); 0: none
  double mix_prob = 1;        // probability that an image is mixed with another
  int64_t mix_off_epoch = 0;  // number of epochs with mixing; 0: all

  bool mixes() const { return mixup > 0 || cutmix > 0; }
  bool operator==(const AugmentOptions&) const = default;
};

/// Masking for masked image modelling.
struct MaskedImageOptions {
  double fraction = 0.6;  // of the patches
  int64_t unit = 1;       // side, in patches, of the squares that are masked as a unit
};

}  // namespace weft::data
