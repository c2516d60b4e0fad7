#include "data/images/image_dataset.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/error.h"
#include "data/images/augment.h"
#include "data/images/image_source.h"
#include "data/labels.h"
#include "data/mixture.h"
#include "formats/image_patches.h"

namespace weft::data {

namespace {

using formats::Image;
using formats::ImageSize;

constexpr uint64_t kImageRowMixtureSeed =
    0x696d61676573;  // weights draw rows the same way in every run

// Further streams of an item, beside that of its own changes.
constexpr uint64_t kMixStream = 1;
constexpr uint64_t kEraseStream = 2;

/// The size in which an image comes to the model without chance.
ImageSize image_row_size_of(const ImageSize& shape, const ImageSettings& settings) {
  if (settings.format.most_patches) {
    return shape_kept(shape, settings.patch, *settings.format.most_patches);
  }
  return {settings.format.size, settings.format.size};
}

int64_t own_tokens(const ImageSettings& settings) {
  return (settings.has_class_token ? 1 : 0) + (settings.has_distillation_token ? 1 : 0);
}

int64_t patches_in(const ImageSize& size, int64_t patch) {
  return (size.height / patch) * (size.width / patch);
}

Image brought_to(const Image& image, const ImageSize& size, const ImageSettings& settings) {
  return settings.format.most_patches
             ? resized(image, size.height, size.width, settings.format.resample)
             : fitted(image, settings.format);
}

Example example_of(const std::vector<float>& planes,
                   const ImageSize& size,
                   const ImageSettings& settings) {
  Example made;
  made.patches = patches_of(planes, size, settings.patch);
  made.patch_width = settings.format.channels * settings.patch * settings.patch;
  if (settings.has_class_token) {
    made.ids.push_back(formats::kClassToken);
  }
  if (settings.has_distillation_token) {
    made.ids.push_back(formats::kDistillationToken);
  }
  for (int64_t row = 0; row < size.height / settings.patch; ++row) {
    for (int64_t column = 0; column < size.width / settings.patch; ++column) {
      made.ids.push_back(formats::patch_id(row, column));
    }
  }
  return made;
}

/// Hides whole squares of patches, so many that the share of hidden patches is at least the wanted
/// one.
void hide(Example& example, const ImageSize& size, const ImageSettings& settings, Random& random) {
  const int64_t unit = settings.mask->unit;
  const int64_t rows = size.height / settings.patch;
  const int64_t columns = size.width / settings.patch;
  const int64_t across = (columns + unit - 1) / unit;
  const int64_t squares = ((rows + unit - 1) / unit) * across;
  std::vector<int64_t> order(static_cast<std::size_t>(squares));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.below(i)]);
  }
  const auto hidden = std::max<int64_t>(
      1, static_cast<int64_t>(
             std::ceil(settings.mask->fraction * static_cast<double>(squares) - 1e-9)));
  std::vector<bool> is_hidden(order.size());
  for (int64_t i = 0; i < std::min(hidden, squares); ++i) {
    is_hidden[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  }
  example.types.assign(example.ids.size(), 0);
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    const int64_t id = example.ids[i];
    if (id < 0) {
      continue;
    }
    const int64_t square =
        formats::patch_row(id) / unit * across + formats::patch_column(id) / unit;
    if (is_hidden[static_cast<std::size_t>(square)]) {
      example.types[i] = 1;
      example.target_positions.push_back(static_cast<int64_t>(i));
      example.targets.push_back(id);
    }
  }
}

class ImageSet : public ImageDataset {
 public:
  ImageSet(const std::vector<DataItem>& items, const ImageSettings& settings)
      : settings_(settings) {
    std::vector<MixturePart> shares;
    for (const auto& item : items) {
      auto& part = parts_.emplace_back();
      part.source = open_images(item, !settings.mask);
      shares.push_back({part.source->size(), item.weight});
    }
    mixture_.emplace(shares, kImageRowMixtureSeed);
    read_labels();
    if (settings.format.most_patches) {
      find_sizes();
    }
    fingerprint_ = hash(items);
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    return own_tokens(settings_) +
           patches_in(size_at(mixture_->locate(epoch, item)), settings_.patch);
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const auto size = size_at(place);
    auto planes = planes_at(epoch, place, size);
    std::vector<double> values;
    const int64_t label = settings_.mask ? kIgnored : label_at(place);
    if (mixes(epoch)) {
      values = mixed(epoch, place, size, planes);
    }
    auto made = example_of(planes, size, settings_);
    made.label = label;
    made.values = std::move(values);
    if (settings_.mask) {
      const auto time = static_cast<uint64_t>(settings_.augment ? epoch : 0);
      Random random(settings_.seed, Purpose::kMask, time, static_cast<uint64_t>(place.identity));
      hide(made, size, settings_, random);
    }
    return made;
  }

  std::string place(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    return parts_[place.part].source->place(place.index);
  }

  const std::vector<std::string>& labels() const override { return names_; }
  int64_t rows() const override {
    int64_t rows = 0;
    for (const auto& part : parts_) {
      rows += part.source->size();
    }
    return rows;
  }

  std::vector<int64_t> class_counts() const override {
    std::vector<int64_t> counts(names_.size());
    for (const auto& part : parts_) {
      for (const int32_t label : part.labels) {
        ++counts[static_cast<std::size_t>(label)];
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
    std::vector<int32_t> labels;   // empty: they do not count
    std::vector<ImageSize> sizes;  // where images keep their shape
  };

  void read_labels() {
    if (settings_.mask) {
      return;
    }
    names_ = settings_.labels;
    if (names_.empty()) {
      std::set<std::string> found;
      for (const auto& part : parts_) {
        found.insert(part.source->labels().begin(), part.source->labels().end());
      }
      names_ = sorted_labels({found.begin(), found.end()});
    }
    const Labels labels(names_);
    for (auto& part : parts_) {
      for (std::size_t i = 0; i < part.source->labels().size(); ++i) {
        const auto& name = part.source->labels()[i];
        const auto id = labels.find(name);
        if (!id) {
          labels.refuse(name, part.source->place(static_cast<int64_t>(i)));
        }
        part.labels.push_back(static_cast<int32_t>(*id));
      }
    }
  }

  void find_sizes() {
    constexpr int64_t kAtOnce = 64;
    for (auto& part : parts_) {
      part.sizes.resize(static_cast<std::size_t>(part.source->size()));
      parallel_for(part.source->size(), kAtOnce, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          part.sizes[static_cast<std::size_t>(i)] =
              image_row_size_of(part.source->shape(i), settings_);
        }
      });
    }
  }

  ImageSize size_at(const Mixture::Place& place) const {
    return settings_.format.most_patches
               ? parts_[place.part].sizes[static_cast<std::size_t>(place.index)]
               : ImageSize{settings_.format.size, settings_.format.size};
  }

  int64_t label_at(const Mixture::Place& place) const {
    return parts_[place.part].labels[static_cast<std::size_t>(place.index)];
  }

  bool mixes(int64_t epoch) const {
    const auto& augment = settings_.augment;
    return augment && augment->mixes() && !settings_.mask &&
           (augment->mix_epochs == 0 || epoch < augment->mix_epochs);
  }

  Random chance(int64_t epoch, const Mixture::Place& place, uint64_t stream) const {
    return {mix(settings_.seed, stream), Purpose::kAugment, static_cast<uint64_t>(epoch),
            static_cast<uint64_t>(place.identity)};
  }

  /// The item's image in this size, as the epoch changes it: planes (C, H, W).
  std::vector<float> planes_at(int64_t epoch,
                               const Mixture::Place& place,
                               const ImageSize& size) const {
    const auto image =
        with_channels(parts_[place.part].source->image(place.index), settings_.format.channels);
    if (!settings_.augment) {
      return normalized(brought_to(image, size, settings_), settings_.format);
    }
    auto random = chance(epoch, place, 0);
    const AugmentTarget target = {size.height, size.width, settings_.format.resample};
    auto planes =
        normalized(augmented(image, *settings_.augment, target, random), settings_.format);
    auto erasing = chance(epoch, place, kEraseStream);
    erase(planes, size, settings_.augment->erase, erasing);
    return planes;
  }

  /// Mixes another image into the planes; the shares of all classes.
  std::vector<double> mixed(int64_t epoch,
                            const Mixture::Place& place,
                            const ImageSize& size,
                            std::vector<float>& planes) const {
    auto random = chance(epoch, place, kMixStream);
    const auto how = draw_mix(*settings_.augment, size, random);
    std::vector<double> shares(names_.size());
    shares[static_cast<std::size_t>(label_at(place))] += how.share;
    if (how.share < 1) {
      const auto other = mixture_->locate(
          epoch, static_cast<int64_t>(random.below(static_cast<uint64_t>(mixture_->size()))));
      blend(planes, planes_at(epoch, other, size), size, how);
      shares[static_cast<std::size_t>(label_at(other))] += 1 - how.share;
    }
    return shares;
  }

  uint64_t hash(const std::vector<DataItem>& items) const {
    const auto& format = settings_.format;
    uint64_t value =
        mix(static_cast<uint64_t>(format.size), static_cast<uint64_t>(settings_.patch));
    value = mix(value, static_cast<uint64_t>(settings_.format.most_patches.value_or(0)));
    value = mix(value, static_cast<uint64_t>(format.resample));
    value = mix(value, std::bit_cast<uint64_t>(format.crop_share));
    for (const auto* numbers : {&format.mean, &format.deviation}) {
      value = digest(numbers->data(), numbers->size() * sizeof(double), value);
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto& part = parts_[i];
      value = mix(value, part.source->fingerprint());
      value = mix(value, std::bit_cast<uint64_t>(items[i].weight));
      value = digest(part.labels.data(), part.labels.size() * sizeof(int32_t), value);
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
  const auto own = with_channels(image, settings.format.channels);
  return example_of(normalized(brought_to(own, size, settings), settings.format), size, settings);
}

}  // namespace weft::data
