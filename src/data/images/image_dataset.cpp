#include "data/images/image_dataset.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "data/error.h"
#include "data/images/augment.h"
#include "data/images/image_source.h"
#include "data/labels.h"
#include "data/mixture.h"
#include "formats/image.h"

namespace weft::data {

namespace {

using formats::Image;
using formats::ImageSize;

constexpr uint64_t kImageRowMixtureSeed =
    0x696d61676573;  // fixed: weights select the same rows in every run

// Further random streams of an item, besides that of its own augmentation.
constexpr uint64_t kMixRngStream = 1;
constexpr uint64_t kEraseRngStream = 2;

/// Size of an image as model input, without augmentation.
ImageSize image_row_size_of(const ImageSize& shape, const ImageSettings& settings) {
  if (settings.format.max_patches) {
    return native_resolution_size(shape, settings.patch, *settings.format.max_patches);
  }
  return {settings.format.size, settings.format.size};
}

int64_t num_special_tokens(const ImageSettings& settings) {
  return (settings.has_class_token ? 1 : 0) + (settings.has_distillation_token ? 1 : 0);
}

int64_t num_patches(const ImageSize& size, int64_t patch) {
  return (size.height / patch) * (size.width / patch);
}

Image resize_to_model(const Image& image, const ImageSize& size, const ImageSettings& settings) {
  return settings.format.max_patches
             ? resize_image(image, size.height, size.width, settings.format.resample)
             : resize_and_crop(image, settings.format);
}

Example make_example(const std::vector<float>& planes,
                     const ImageSize& size,
                     const ImageSettings& settings) {
  Example result;
  result.patches = patchify(planes, size, settings.patch);
  result.patch_width = settings.format.channels * settings.patch * settings.patch;
  if (settings.has_class_token) {
    result.ids.push_back(formats::kClassToken);
  }
  if (settings.has_distillation_token) {
    result.ids.push_back(formats::kDistillationToken);
  }
  for (int64_t row = 0; row < size.height / settings.patch; ++row) {
    for (int64_t column = 0; column < size.width / settings.patch; ++column) {
      result.ids.push_back(formats::patch_id(row, column));
    }
  }
  return result;
}

/// Masks whole squares of patches until the fraction of masked patches is at least the requested
/// one.
void mask_patches(Example& example,
                  const ImageSize& size,
                  const ImageSettings& settings,
                  Random& random) {
  const int64_t unit = settings.mask->unit;
  const int64_t rows = size.height / settings.patch;
  const int64_t columns = size.width / settings.patch;
  const int64_t across = (columns + unit - 1) / unit;
  const int64_t squares = ((rows + unit - 1) / unit) * across;
  std::vector<int64_t> order(static_cast<std::size_t>(squares));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.uniform_int(i)]);
  }
  const auto num_masked = std::max<int64_t>(
      1, static_cast<int64_t>(
             std::ceil(settings.mask->fraction * static_cast<double>(squares) - 1e-9)));
  std::vector<bool> is_masked(order.size());
  for (int64_t i = 0; i < std::min(num_masked, squares); ++i) {
    is_masked[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  }
  example.token_type_ids.assign(example.ids.size(), 0);
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    const int64_t id = example.ids[i];
    if (id < 0) {
      continue;
    }
    const int64_t square =
        formats::patch_row(id) / unit * across + formats::patch_column(id) / unit;
    if (is_masked[static_cast<std::size_t>(square)]) {
      example.token_type_ids[i] = 1;
      example.target_positions.push_back(static_cast<int64_t>(i));
      example.targets.push_back(id);
    }
  }
}

class ImageSet : public ImageDataset {
 public:
  ImageSet(const std::vector<DataItem>& items, const ImageSettings& settings)
      : settings_(settings) {
    std::vector<MixturePart> mixture_parts;
    for (const auto& item : items) {
      auto& part = parts_.emplace_back();
      part.source = open_images(item, !settings.mask);
      part.rows = item.rows;
      mixture_parts.push_back({part.size(), item.weight});
    }
    mixture_.emplace(mixture_parts, kImageRowMixtureSeed);
    read_labels();
    if (settings.format.max_patches) {
      read_sizes();
    }
    fingerprint_ = hash(items);
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    return num_special_tokens(settings_) +
           num_patches(size_at(locate(epoch, item)), settings_.patch);
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto entry = locate(epoch, item);
    const auto size = size_at(entry);
    auto planes = planes_at(epoch, entry, size);
    std::vector<double> values;
    const int64_t label = settings_.mask ? kIgnoreIndex : label_at(entry);
    if (mixes_in_epoch(epoch)) {
      values = mix_images(epoch, entry, size, planes);
    }
    auto result = make_example(planes, size, settings_);
    result.label = label;
    result.values = std::move(values);
    if (settings_.mask) {
      const auto time = static_cast<uint64_t>(settings_.augment ? epoch : 0);
      Random random(settings_.seed, RandomPurpose::kMask, time,
                    static_cast<uint64_t>(entry.identity));
      mask_patches(result, size, settings_, random);
    }
    return result;
  }

  std::string location(int64_t epoch, int64_t item) const override {
    const auto entry = locate(epoch, item);
    return parts_[entry.part].source->location(entry.index);
  }

  const std::vector<std::string>& labels() const override { return names_; }
  int64_t rows() const override {
    int64_t rows = 0;
    for (const auto& part : parts_) {
      rows += part.size();
    }
    return rows;
  }

  std::vector<int64_t> class_counts() const override {
    std::vector<int64_t> counts(names_.size());
    for (const auto& part : parts_) {
      for (int64_t i = 0; i < (part.labels.empty() ? 0 : part.size()); ++i) {
        ++counts[static_cast<std::size_t>(part.labels[static_cast<std::size_t>(part.row(i))])];
      }
    }
    return counts;
  }

  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override {
    std::vector<std::string> all;
    for (const auto& part : parts_) {
      const auto some = part.source->remarks();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

 private:
  struct Part {
    std::unique_ptr<const ImageSource> source;
    std::optional<std::vector<int64_t>> rows;  // images in use; nullopt: all
    std::vector<int32_t> labels;               // empty: ignored
    std::vector<ImageSize> sizes;              // if images keep their aspect ratio

    int64_t size() const { return rows ? static_cast<int64_t>(rows->size()) : source->size(); }
    int64_t row(int64_t i) const { return rows ? (*rows)[static_cast<std::size_t>(i)] : i; }
  };

  /// The image of an item of an epoch; its index is that in the source.
  Mixture::Entry locate(int64_t epoch, int64_t item) const {
    auto entry = mixture_->locate(epoch, item);
    entry.index = parts_[entry.part].row(entry.index);
    return entry;
  }

  void read_labels() {
    if (settings_.mask) {
      return;
    }
    std::set<std::string> found;
    for (const auto& part : parts_) {
      found.insert(part.source->labels().begin(), part.source->labels().end());
    }
    names_ = choose_labels(settings_.labels, sorted_labels({found.begin(), found.end()}),
                           settings_.may_replace_labels);
    const Labels labels(names_);
    for (auto& part : parts_) {
      for (std::size_t i = 0; i < part.source->labels().size(); ++i) {
        const auto& name = part.source->labels()[i];
        const auto id = labels.find(name);
        if (!id) {
          labels.throw_unknown(name, part.source->location(static_cast<int64_t>(i)));
        }
        part.labels.push_back(static_cast<int32_t>(*id));
      }
    }
  }

  void read_sizes() {
    constexpr int64_t kImagesPerBlock = 64;
    for (auto& part : parts_) {
      part.sizes.resize(static_cast<std::size_t>(part.source->size()));
      parallel_for(part.source->size(), kImagesPerBlock, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          part.sizes[static_cast<std::size_t>(i)] =
              image_row_size_of(part.source->shape(i), settings_);
        }
      });
    }
  }

  ImageSize size_at(const Mixture::Entry& entry) const {
    return settings_.format.max_patches
               ? parts_[entry.part].sizes[static_cast<std::size_t>(entry.index)]
               : ImageSize{settings_.format.size, settings_.format.size};
  }

  int64_t label_at(const Mixture::Entry& entry) const {
    return parts_[entry.part].labels[static_cast<std::size_t>(entry.index)];
  }

  bool mixes_in_epoch(int64_t epoch) const {
    const auto& augment = settings_.augment;
    return augment && augment->mixes() && !settings_.mask &&
           (augment->mix_off_epoch == 0 || epoch < augment->mix_off_epoch);
  }

  Random item_random(int64_t epoch, const Mixture::Entry& entry, uint64_t stream) const {
    return {hash_combine(settings_.seed, stream), RandomPurpose::kAugment,
            static_cast<uint64_t>(epoch), static_cast<uint64_t>(entry.identity)};
  }

  /// The item's image at this size, augmented for the epoch: planes (C, H, W).
  std::vector<float> planes_at(int64_t epoch,
                               const Mixture::Entry& entry,
                               const ImageSize& size) const {
    const auto image =
        convert_channels(parts_[entry.part].source->image(entry.index), settings_.format.channels);
    if (!settings_.augment) {
      return normalize_image(resize_to_model(image, size, settings_), settings_.format);
    }
    auto random = item_random(epoch, entry, 0);
    const AugmentTarget target = {size.height, size.width, settings_.format.resample};
    auto planes =
        normalize_image(augment_image(image, *settings_.augment, target, random), settings_.format);
    auto erase_random = item_random(epoch, entry, kEraseRngStream);
    random_erase(planes, size, settings_.augment->erase, erase_random);
    return planes;
  }

  /// Mixes another image into the planes; returns the weights of all classes.
  std::vector<double> mix_images(int64_t epoch,
                                 const Mixture::Entry& entry,
                                 const ImageSize& size,
                                 std::vector<float>& planes) const {
    auto random = item_random(epoch, entry, kMixRngStream);
    const auto mix_parameters = sample_mix(*settings_.augment, size, random);
    std::vector<double> soft_labels(names_.size());
    soft_labels[static_cast<std::size_t>(label_at(entry))] += mix_parameters.lambda;
    if (mix_parameters.lambda < 1) {
      const auto other = locate(
          epoch, static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(mixture_->size()))));
      blend_images(planes, planes_at(epoch, other, size), size, mix_parameters);
      soft_labels[static_cast<std::size_t>(label_at(other))] += 1 - mix_parameters.lambda;
    }
    return soft_labels;
  }

  uint64_t hash(const std::vector<DataItem>& items) const {
    const auto& format = settings_.format;
    uint64_t value =
        hash_combine(static_cast<uint64_t>(format.size), static_cast<uint64_t>(settings_.patch));
    value = hash_combine(value, static_cast<uint64_t>(settings_.format.max_patches.value_or(0)));
    value = hash_combine(value, static_cast<uint64_t>(format.resample));
    value = hash_combine(value, std::bit_cast<uint64_t>(format.crop_pct));
    for (const auto* numbers : {&format.image_mean, &format.image_std}) {
      value = digest(numbers->data(), numbers->size() * sizeof(double), value);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto& part = parts_[i];
      value = hash_combine(value, part.source->fingerprint());
      value = hash_combine(value, std::bit_cast<uint64_t>(items[i].weight));
      value = digest(part.labels.data(), part.labels.size() * sizeof(int32_t), value);
      if (part.rows) {
        value = digest(part.rows->data(), part.rows->size() * sizeof(int64_t), value);
      }
    }
    for (const auto& name : names_) {
      value = digest(name, value);
    }
    return value;
  }

  ImageSettings settings_;
  std::vector<Part> parts_;
  std::vector<std::string> names_;
  std::optional<Mixture> mixture_;
  uint64_t fingerprint_ = 0;
};

}  // namespace

std::shared_ptr<const ImageDataset> make_image_dataset(const std::vector<DataItem>& items,
                                                       const ImageSettings& settings) {
  return std::make_shared<ImageSet>(items, settings);
}

Example image_example(const Image& image, const ImageSettings& settings) {
  const auto size = image_row_size_of({image.height, image.width}, settings);
  const auto converted = convert_channels(image, settings.format.channels);
  return make_example(normalize_image(resize_to_model(converted, size, settings), settings.format),
                      size, settings);
}

}  // namespace weft::data
