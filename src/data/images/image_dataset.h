#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/data_options.h"
#include "data/dataset.h"
#include "data/images/image_format.h"
#include "formats/image.h"

namespace weft::data {

struct ImageSettings {
  ImagePreprocessorConfig format;
  int64_t patch = 16;
  bool has_class_token = true;
  bool has_distillation_token = false;
  std::optional<int64_t> max_patches = std::nullopt;      // images keep their aspect ratio
  std::optional<AugmentOptions> augment = std::nullopt;   // in training only
  std::optional<MaskedImageOptions> mask = std::nullopt;  // hides patches; labels are ignored
  std::vector<std::string> labels = {};  // known class names in order; empty: those of the data
  bool may_replace_labels = false;       // by the classes of the data if these are not all known
  uint64_t seed = 1;
};

/// Images with one class each, split into patches. Ids and types of an example as in
/// formats/image.h; targets of hidden patches are the patches themselves.
class ImageDataset : public Dataset {
 public:
  virtual const std::vector<std::string>& labels() const = 0;
  virtual std::vector<int64_t> class_counts() const = 0;
  virtual int64_t rows() const = 0;
};

std::shared_ptr<const ImageDataset> make_image_dataset(const std::vector<DataItem>& items,
                                                       const ImageSettings& settings);

/// Example of one image for inference: no label, no augmentation.
Example image_example(const formats::Image& image, const ImageSettings& settings);

/// The image of an example's patches, as the model sees it: of the size and with the colours before
/// normalisation. Hidden patches are grey or, if `shows_hidden`, as they are.
formats::Image example_image(const Example& example,
                             int64_t patch,
                             const ImagePreprocessorConfig& format,
                             bool shows_hidden = false);

}  // namespace weft::data
