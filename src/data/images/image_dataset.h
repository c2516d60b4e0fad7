#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/images/image_format.h"

namespace weft::data {

struct ImageSettings {
  ImageFormat format;
  int64_t patch = 16;
  bool has_class_token = true;
  bool has_distillation_token = false;
  std::optional<int64_t> most_patches = std::nullopt;     // images keep their shape
  std::optional<AugmentOptions> augment = std::nullopt;   // of training
  std::optional<MaskedImageOptions> mask = std::nullopt;  // hides patches; labels do not count
  std::vector<std::string> labels = {};  // known class names in order; empty: those of the data
  uint64_t seed = 1;
};

/// Images with a class each, cut to patches. Ids and types of an example as in
/// formats/image_patches.h; targets of hidden patches are the patches themselves.
class ImageDataset : public Dataset {
 public:
  virtual const std::vector<std::string>& labels() const = 0;
  virtual std::vector<int64_t> class_counts() const = 0;
  virtual int64_t rows() const = 0;
};

std::shared_ptr<const ImageDataset> make_image_dataset(const std::vector<DataItem>& items,
                                                       const ImageSettings& settings);

/// One image as the model sees it, without label and chance.
Example image_example(const formats::Image& image, const ImageSettings& settings);

}  // namespace weft::data
