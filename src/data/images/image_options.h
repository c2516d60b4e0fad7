#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::data {

/// What the files of an item hold.
enum class ImageKind {
  kFolder,   // a folder for each class, image files in it
  kIdx,      // an IDX file of images, and one of labels
  kCifar10,  // records of one label and 32 x 32 pixels in three planes
  kCifar100,
  kPixels,  // a table of numbers, one image a row
  kTable,   // a table that names image files
};

/// Keys of an item of `data.train` that holds images.
struct ImageItem {
  std::optional<ImageKind> kind = std::nullopt;           // nothing: told by the path
  std::optional<std::string> column = std::nullopt;       // kTable: with the paths of the images
  std::optional<std::string> labels_file = std::nullopt;  // kIdx; nothing: found by its name
  std::optional<std::string> names_file = std::nullopt;   // of the classes, a line each
  int64_t white = 255;                                    // kPixels: the number of a full pixel

  bool operator==(const ImageItem&) const = default;
};

enum class Resample { kNearest, kBilinear, kBicubic };

/// The `data.images:` section: how an image comes to the model, in training and ever after.
struct ImageOptions {
  std::vector<double> mean;          // of the channels; empty: init_from's, else 0.5
  std::vector<double> deviation;     // likewise
  std::optional<Resample> resample;  // nothing: init_from's, else bilinear
  std::optional<double> crop_share;  // of each side, kept around the middle; nothing: init_from's
  bool keeps_shape = false;          // sizes as they come, in whole patches; else the model's
  std::optional<int64_t>
      most_patches;  // with keeps_shape; nothing: as many as the model's size has

  bool operator==(const ImageOptions&) const = default;
};

/// The `data.augment:` section: what training changes in an image, a pure function of (seed, epoch,
/// item).
struct AugmentOptions {
  std::optional<std::array<double, 2>> crop_area;      // of a random crop, shares of the image
  std::array<double, 2> crop_ratio = {0.75, 4.0 / 3};  // its width to its height
  int64_t pad_crop = 0;                                // pixels put around it before a crop
  double flip = 0;                                     // chance
  double vertical_flip = 0;
  int64_t rand_operations = 0;  // RandAugment (arXiv:1909.13719): operations of an image; 0: none
  int64_t rand_magnitude = 9;   // of 30
  double brightness = 0;        // factors from 1 - x to 1 + x
  double contrast = 0;
  double saturation = 0;
  double hue = 0;          // turns from -x to x
  double erase = 0;        // chance of random erasing (arXiv:1708.04896)
  double mixup = 0;        // alpha of Mixup (arXiv:1710.09412); 0: none
  double cutmix = 0;       // alpha of CutMix (arXiv:1905.04899); 0: none
  double mix_chance = 1;   // that an image is mixed with another
  int64_t mix_epochs = 0;  // epochs that mix; 0: all

  bool mixes() const { return mixup > 0 || cutmix > 0; }
  bool operator==(const AugmentOptions&) const = default;
};

/// What masked image modelling hides.
struct MaskedImageOptions {
  double fraction = 0.6;  // of the patches
  int64_t unit = 1;       // patches a side of the squares that are hidden together
};

}  // namespace weft::data
