#include <algorithm>
#include <cmath>

#include "base/string_util.h"
#include "data/data_options.h"

namespace weft::data {

namespace {

using config::Section;

constexpr std::string_view kOnlyImages = "image models";
constexpr config::Range kUnitRange = {.min = 0, .max = 1};

const config::Choices<std::optional<ImageKind>>& image_kinds() {
  static const config::Choices<std::optional<ImageKind>> kKinds = {
      {"auto", std::nullopt},
      {"folder", ImageKind::kFolder},
      {"idx", ImageKind::kIdx},
      {"cifar10", ImageKind::kCifar10},
      {"cifar100", ImageKind::kCifar100},
      {"pixels", ImageKind::kPixels},
      {"table", ImageKind::kTable},
  };
  return kKinds;
}

/// Reads a list of two ascending numbers.
void read_pair(Section& section,
               std::string_view key,
               std::vector<double>& pair,
               const config::KeySpec& about) {
  section.read(key, pair, about);
  const bool is_valid = pair.size() == 2 && pair[0] > 0 && pair[0] <= pair[1];
  if (!pair.empty() && !is_valid) {
    section.fail(key, "must be two numbers in ascending order, e.g. [0.3, 1]");
  }
}

void read_crop(Section& section, AugmentOptions& options) {
  std::vector<double> area;
  if (options.crop_scale) {
    area.assign(options.crop_scale->begin(), options.crop_scale->end());
  }
  read_pair(section, "crop_scale", area,
            {.help = "Random resized crop: minimum and maximum area of the crop as a fraction of "
                     "the image; the crop is resized to the model's input size ([0.08, 1] is "
                     "common for large photographs). []: off.",
             .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  options.crop_scale =
      area.empty() ? std::nullopt : std::optional(std::array<double, 2>{area[0], area[1]});
  std::vector<double> ratio(options.crop_ratio.begin(), options.crop_ratio.end());
  read_pair(section, "crop_ratio", ratio,
            {.help = "Random resized crop: minimum and maximum aspect ratio (width / height).",
             .range = config::above(0),
             .only_if = "crop_scale"});
  if (ratio.empty()) {
    section.fail("crop_ratio", "an empty list, must be two numbers");
  }
  options.crop_ratio = {ratio[0], ratio[1]};
  section.read("pad_crop", options.pad_crop,
               {.help = "Pads the image with this many black pixels on each side, then takes a "
                        "random crop of the model's input size. 0: off.",
                .unit = "pixels",
                .range = config::between(0, 1024)});
  if (options.pad_crop > 0 && options.crop_scale) {
    section.report("pad_crop",
                   "cannot be combined with crop_scale, only one kind of crop is allowed");
  }
}

void read_colors(Section& section, AugmentOptions& options) {
  const auto read = [&](std::string_view key, double& value, std::string_view help) {
    section.read(key, value, {.help = help, .range = kUnitRange});
  };
  read("brightness", options.brightness,
       "Brightness jitter x: multiplies the brightness by a random factor in [1 - x, 1 + x]. 0: "
       "off.");
  read("contrast", options.contrast,
       "Contrast jitter x: multiplies the contrast by a random factor in [1 - x, 1 + x]. 0: off.");
  read("saturation", options.saturation,
       "Saturation jitter x: multiplies the saturation by a random factor in [1 - x, 1 + x]. 0: "
       "off.");
  section.read("hue", options.hue,
               {.help = "Hue jitter x: shifts the hue by a random fraction of the colour circle in "
                        "[-x, x]. 0: off.",
                .range = config::between(0, 0.5)});
}

void read_mix(Section& section, AugmentOptions& options) {
  section.read("mixup", options.mixup,
               {.help = "Mixup alpha (arXiv:1710.09412): blends two images and their labels; the "
                        "mixing weight is drawn from Beta(alpha, alpha). 0: off.",
                .range = config::between(0, 100)});
  section.read(
      "cutmix", options.cutmix,
      {.help = "CutMix alpha (arXiv:1905.04899): replaces a rectangle by that of another image. If "
               "mixup is on as well, one of the two is chosen at random. 0: off.",
       .range = config::between(0, 100)});
  section.read("mix_prob", options.mix_prob,
               {.help = "Probability that an image is mixed by mixup or CutMix.",
                .range = kUnitRange,
                .only_if = "mixup or cutmix"});
  section.read("mix_off_epoch", options.mix_off_epoch,
               {.help = "Number of first epochs with mixup or CutMix. 0: all epochs.",
                .unit = "epochs",
                .range = config::between(0, 1'000'000),
                .only_if = "mixup or cutmix"});
  for (const auto* key : {"mix_prob", "mix_off_epoch"}) {
    if (!options.mixes() && section.has(key) && !section.is_documenting()) {
      const AugmentOptions plain;
      const bool is_plain = options.mix_prob == plain.mix_prob && options.mix_off_epoch == 0;
      if (!is_plain) {
        section.report(key, "has no effect here, only with mixup or cutmix");
      }
    }
  }
}

}  // namespace

const config::Choices<Resample>& resample_choices() {
  static const config::Choices<Resample> kWords = {{"nearest", Resample::kNearest},
                                                   {"bilinear", Resample::kBilinear},
                                                   {"bicubic", Resample::kBicubic}};
  return kWords;
}

void read_image_item(Section& section, ImageItem& item) {
  section.read_choice("format", item.kind, image_kinds(),
                      {.help = "File format: a folder per class; an IDX file (MNIST); CIFAR binary "
                               "files; a table of pixel values with one image per row; or a table "
                               "of image file names. auto: detected from the path.",
                       .only_if = kOnlyImages});
  section.read("image", item.column,
               {.help = "Table column with the path of the image, relative to the table's folder "
                        "or else to the working directory. Default: `image` or `file_name`.",
                .only_if = kOnlyImages});
  section.read("labels_file", item.labels_file,
               {.help = "IDX file with the labels of an IDX image file. Default: the same name "
                        "with images-idx3 replaced by labels-idx1.",
                .only_if = kOnlyImages});
  section.read("max_pixel_value", item.white,
               {.help = "Maximum pixel value in a table of pixels; values are divided by it.",
                .range = config::between(1, 1'000'000),
                .only_if = kOnlyImages});
}

void read_image_options(Section& section, ImageOptions& options) {
  section.read("mean", options.image_mean,
               {.help = "Mean per channel, or one for all channels, with pixels scaled to [0, 1]; "
                        "subtracted from every pixel. []: the value of init_from, or else 0.5.",
                .range = kUnitRange});
  section.read("std", options.image_std,
               {.help = "Standard deviation per channel, or one for all channels; every pixel is "
                        "divided by it. []: the value of init_from, or else 0.5.",
                .range = {.min = 0, .max = 100, .is_min_exclusive = true}});
  config::Choices<std::optional<Resample>> words = {{"auto", std::nullopt}};
  for (const auto& [word, value] : resample_choices()) {
    words.emplace_back(word, value);
  }
  section.read_choice(
      "resample", options.resample, words,
      {.help = "Interpolation for resizing. auto: the value of init_from, or else bilinear."});
  section.read("crop_pct", options.crop_pct,
               {.help = "Center crop: fraction of each side of the resized image that is kept "
                        "(0.875 crops 256 pixels to 224). null: the value of init_from, or else 1.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("native_resolution", options.native_resolution,
               {.help = "Keeps the aspect ratio and resolution of each image, rounded to whole "
                        "patches, and batches images of different sizes together. false: resize "
                        "all images to the model's input size."});
  section.read("max_patches", options.max_patches,
               {.help = "Maximum number of patches per image with native_resolution; larger images "
                        "are scaled down. null: the number of patches at the model's input size.",
                .unit = "patches",
                .range = config::between(1, 1 << 20),
                .only_if = "native_resolution"});
  if (options.max_patches && !options.native_resolution) {
    section.report("max_patches", "has no effect here, only with native_resolution: true");
  }
  if (options.native_resolution && options.crop_pct.value_or(1) < 1) {
    section.report("crop_pct", "cannot be combined with native_resolution: true, allowed is 1");
  }
  section.reject_unread();
}

void read_augment_options(Section& section, AugmentOptions& options) {
  read_crop(section, options);
  section.read("flip", options.flip,
               {.help = "Probability of a horizontal flip.", .range = kUnitRange});
  section.read("vertical_flip", options.vertical_flip,
               {.help = "Probability of a vertical flip.", .range = kUnitRange});
  section.read("randaugment_num_ops", options.randaugment_num_ops,
               {.help = "RandAugment (arXiv:1909.13719): number of random operations (out of 14) "
                        "applied to each image in turn. 0: off.",
                .unit = "operations",
                .range = config::between(0, 14)});
  section.read("randaugment_magnitude", options.randaugment_magnitude,
               {.help = "RandAugment magnitude, on a scale of 0 to 30.",
                .range = config::between(0, 30),
                .only_if = "randaugment_num_ops"});
  read_colors(section, options);
  section.read("random_erase", options.erase,
               {.help = "Random erasing (arXiv:1708.04896): probability that a random rectangle is "
                        "replaced by the mean.",
                .range = kUnitRange});
  read_mix(section, options);
  section.reject_unread();
}

}  // namespace weft::data
