#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/images/image_options.h"
#include "data/images/image_resize.h"
#include "data/tokenizer.h"
#include "formats/image.h"

namespace weft::data {

/// Image preprocessing of a model; in a model directory it is preprocessor_config.json.
struct ImagePreprocessorConfig {
  int64_t size = 0;  // pixels per side
  int64_t channels = 3;
  std::vector<double> image_mean = {};  // per channel, for values from 0 to 1
  std::vector<double> image_std = {};   // per channel
  Resample resample = Resample::kBilinear;
  double crop_pct = 1;  // centre crop, as a fraction of each side of the resized image
  std::optional<int64_t> max_patches = std::nullopt;  // images keep their aspect ratio

  bool operator==(const ImagePreprocessorConfig&) const = default;
};

/// Returns the image at the model's size, without augmentation.
formats::Image resize_and_crop(const formats::Image& image, const ImagePreprocessorConfig& format);

/// Normalises bytes to planes (C, H, W). The image has the format's channels.
std::vector<float> normalize_image(const formats::Image& image,
                                   const ImagePreprocessorConfig& format);

/// Splits planes (C, H, W) into patches in row-major order of the grid: (P, C p p).
std::vector<float> patchify(const std::vector<float>& planes,
                            const formats::ImageSize& size,
                            int64_t patch);

/// Size of a resized image that keeps its aspect ratio: whole patches, at most `max_patches`.
formats::ImageSize native_resolution_size(const formats::ImageSize& size,
                                          int64_t patch,
                                          int64_t max_patches);

/// Returns nullopt if the directory has no such file. Throws data::Error naming the error in it.
/// `channels`: of the model; 0: as many as there are means.
std::optional<ImagePreprocessorConfig> read_preprocessor_config(const std::string& directory,
                                                                int64_t channels);
void write_preprocessor_config(const std::string& directory, const ImagePreprocessorConfig& format);

/// Format from init_from, if any, with the config's changes. `size`: of the model, in pixels and
/// patches per side. Throws data::Error: a mean with a different number of channels.
struct ModelSize {
  int64_t pixels = 0;
  int64_t grid = 0;
  int64_t channels = 3;
};
ImagePreprocessorConfig make_preprocessor_config(const ImageOptions& options,
                                                 const std::optional<ImagePreprocessorConfig>& base,
                                                 const ModelSize& size);

/// Takes the tokenizer's role for image models, in a run and in a model directory: it stores the
/// image preprocessing, is saved as preprocessor_config.json, has no pieces and rejects text.
std::shared_ptr<const Tokenizer> make_image_processor(const ImagePreprocessorConfig& format);

/// Returns the format of an image processor. Throws data::Error for a text tokenizer.
const ImagePreprocessorConfig& preprocessor_config_of(const Tokenizer& tokenizer);

/// Loads it from a model directory; null if there is no preprocessor_config.json.
std::shared_ptr<const Tokenizer> load_image_processor(const std::string& directory);

}  // namespace weft::data
