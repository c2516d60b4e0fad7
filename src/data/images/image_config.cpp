#include "data/images/image_config.h"

#include <algorithm>
#include <cmath>

#include "base/string_util.h"

namespace weft::data {

namespace {

using config::Section;

constexpr std::string_view kOnlyImages = "models of images";
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
    section.fail(key, "must be two numbers, the second not less than the first: [0.3, 1]");
  }
}

void read_crop(Section& section, AugmentOptions& options) {
  std::vector<double> area;
  if (options.crop_scale) {
    area.assign(options.crop_scale->begin(), options.crop_scale->end());
  }
  read_pair(section, "crop_scale", area,
            {.help = "Least and largest share of the image's area that a random crop keeps, which "
                     "is then brought to the model's size ([0.08, 1] for large photographs); []: "
                     "no such crop.",
             .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  options.crop_scale =
      area.empty() ? std::nullopt : std::optional(std::array<double, 2>{area[0], area[1]});
  std::vector<double> ratio(options.crop_ratio.begin(), options.crop_ratio.end());
  read_pair(section, "crop_ratio", ratio,
            {.help = "Least and largest ratio of such a crop's width to its height.",
             .range = config::above(0),
             .only_if = "crop_scale"});
  if (ratio.empty()) {
    section.fail("crop_ratio", "an empty list, must be two numbers");
  }
  options.crop_ratio = {ratio[0], ratio[1]};
  section.read("pad_crop", options.pad_crop,
               {.help = "Width of a black border around the image, of which a part of the model's "
                        "size is cut at random; 0: none.",
                .unit = "pixels",
                .range = config::between(0, 1024)});
  if (options.pad_crop > 0 && options.crop_scale) {
    section.fail("pad_crop", "does not go with crop_scale, only one kind of crop is allowed");
  }
}

void read_colors(Section& section, AugmentOptions& options) {
  const auto read = [&](std::string_view key, double& value, std::string_view help) {
    section.read(key, value, {.help = help, .range = kUnitRange});
  };
  read("brightness", options.brightness,
       "Brightness is multiplied by a factor from 1 - x to 1 + x; 0: it stays.");
  read("contrast", options.contrast,
       "Contrast is multiplied by a factor from 1 - x to 1 + x; 0: it stays.");
  read("saturation", options.saturation,
       "Saturation is multiplied by a factor from 1 - x to 1 + x; 0: it stays.");
  section.read("hue", options.hue,
               {.help = "Hues are turned by a share of their circle from -x to x; 0: they stay.",
                .range = config::between(0, 0.5)});
}

void read_mix(Section& section, AugmentOptions& options) {
  section.read(
      "mixup", options.mixup,
      {.help = "Alpha of Mixup (arXiv:1710.09412): an image and its class are blended with "
               "another's by a share from Beta(alpha, alpha); 0: none.",
       .range = config::between(0, 100)});
  section.read("cutmix", options.cutmix,
               {.help = "Alpha of CutMix (arXiv:1905.04899): a rectangle comes from another image; "
                        "together with mixup one of the two is drawn; 0: none.",
                .range = config::between(0, 100)});
  section.read("mix_prob", options.mix_prob,
               {.help = "Share of the images that are mixed.",
                .range = kUnitRange,
                .only_if = "mixup or cutmix"});
  section.read("mix_off_epoch", options.mix_off_epoch,
               {.help = "How many epochs mix images, the later ones do not; 0: all.",
                .unit = "epochs",
                .range = config::between(0, 1'000'000),
                .only_if = "mixup or cutmix"});
  for (const auto* key : {"mix_prob", "mix_off_epoch"}) {
    if (!options.mixes() && section.has(key) && !section.is_documenting()) {
      const AugmentOptions plain;
      const bool is_plain = options.mix_prob == plain.mix_prob && options.mix_off_epoch == 0;
      if (!is_plain) {
        section.fail(key, "has no effect here, only with mixup or cutmix");
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
                      {.help = "What the files hold: a folder for each class; an IDX file of "
                               "images; records of CIFAR; a table of pixels, one image a row; a "
                               "table that names image files. auto: told by the path.",
                       .only_if = kOnlyImages});
  section.read(
      "image", item.column,
      {.help = "Column of a table with the path of an image (from the table's folder, else "
               "the working directory); without it `image` or `file_name`.",
       .only_if = kOnlyImages});
  section.read("labels_file", item.labels_file,
               {.help = "IDX file with the labels of an IDX file of images; without it the file of "
                        "the same name with labels-idx1 for images-idx3.",
                .only_if = kOnlyImages});
  section.read("names_file", item.names_file,
               {.help = "Names of the classes whose numbers the data have, from 0 on, a line each; "
                        "without it the numbers are the names.",
                .only_if = kOnlyImages});
  section.read("max_pixel_value", item.white,
               {.help = "The number that stands for a full pixel in a table of pixels.",
                .range = config::between(1, 1'000'000),
                .only_if = kOnlyImages});
}

void read_image_options(Section& section, ImageOptions& options) {
  section.read("mean", options.image_mean,
               {.help = "Of each channel, or of all, on a scale from 0 to 1: taken from every "
                        "pixel; []: that of init_from, else 0.5.",
                .range = kUnitRange});
  section.read("std", options.image_std,
               {.help = "Of each channel, or of all: every pixel is divided by it; []: that of "
                        "init_from, else 0.5.",
                .range = {.min = 0, .max = 100, .is_min_exclusive = true}});
  config::Choices<std::optional<Resample>> words = {{"auto", std::nullopt}};
  for (const auto& [word, value] : resample_choices()) {
    words.emplace_back(word, value);
  }
  section.read_choice("resample", options.resample, words,
                      {.help = "How images are brought to another size; auto: that of init_from, "
                               "else bilinear."});
  section.read("crop_pct", options.crop_pct,
               {.help = "Share of each side of the resized image that is kept around its middle "
                        "(0.875: 256 pixels to 224); null: that of init_from, else 1.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("native_resolution", options.native_resolution,
               {.help = "Whether each image keeps its ratio of sides and its size, in whole "
                        "patches, and shares a batch with others; else all are brought to the "
                        "model's size."});
  section.read("max_patches", options.max_patches,
               {.help = "Most patches of such an image, larger ones shrink; null: as many as the "
                        "model's size has.",
                .unit = "patches",
                .range = config::between(1, 1 << 20),
                .only_if = "native_resolution"});
  if (options.max_patches && !options.native_resolution) {
    section.fail("max_patches", "has no effect here, only with native_resolution: true");
  }
  if (options.native_resolution && options.crop_pct.value_or(1) < 1) {
    section.fail("crop_pct", "does not go with native_resolution: true, allowed is 1");
  }
  section.reject_unread();
}

void read_augment_options(Section& section, AugmentOptions& options) {
  read_crop(section, options);
  section.read("flip", options.flip,
               {.help = "Chance that left and right change places.", .range = kUnitRange});
  section.read("vertical_flip", options.vertical_flip,
               {.help = "Chance that above and below change places.", .range = kUnitRange});
  section.read("randaugment_num_ops", options.randaugment_num_ops,
               {.help = "RandAugment (arXiv:1909.13719): so many of 14 operations, drawn for each "
                        "image, are applied one after another; 0: none.",
                .unit = "operations",
                .range = config::between(0, 14)});
  section.read("randaugment_magnitude", options.randaugment_magnitude,
               {.help = "Their strength, of 30.",
                .range = config::between(0, 30),
                .only_if = "randaugment_num_ops"});
  read_colors(section, options);
  section.read("random_erase", options.erase,
               {.help = "Chance that a rectangle is set to the mean (arXiv:1708.04896).",
                .range = kUnitRange});
  read_mix(section, options);
  section.reject_unread();
}

}  // namespace weft::data
