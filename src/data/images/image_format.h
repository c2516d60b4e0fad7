#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/images/image_options.h"
#include "data/images/image_resize.h"
#include "formats/image.h"

namespace weft::data {

/// How a model wants its images; in a model directory it is preprocessor_config.json.
struct ImageFormat {
  int64_t size = 0;  // pixels of each side
  int64_t channels = 3;
  std::vector<double> mean = {};       // of each channel, of values from 0 to 1
  std::vector<double> deviation = {};  // likewise
  Resample resample = Resample::kBilinear;
  double crop_share = 1;  // of each side of the resized image, kept around its middle
  std::optional<int64_t> most_patches = std::nullopt;  // images keep their shape

  bool operator==(const ImageFormat&) const = default;
};

/// The whole image at the model's size, without chance.
formats::Image fitted(const formats::Image& image, const ImageFormat& format);

/// Bytes to numbers around zero: planes (C, H, W). The image has the format's channels.
std::vector<float> normalized(const formats::Image& image, const ImageFormat& format);

/// Planes (C, H, W) to patches, row by row of the grid: (P, C p p).
std::vector<float> patches_of(const std::vector<float>& planes,
                              const formats::ImageSize& size,
                              int64_t patch);

/// The sizes in which an image comes that keeps its shape: whole patches, at most so many.
formats::ImageSize shape_kept(const formats::ImageSize& size, int64_t patch, int64_t most_patches);

/// Nothing where the directory has no such file. Throws data::Error naming what is wrong in it.
/// `channels`: of the model; 0: as many as there are means.
std::optional<ImageFormat> read_image_format(const std::string& directory, int64_t channels);
void write_image_format(const std::string& directory, const ImageFormat& format);

/// What init_from brings, or nothing, as the config changes it. `size`: of the model, in pixels and
/// in patches of a side. Throws data::Error: a mean of another number of channels.
struct ModelSize {
  int64_t pixels = 0;
  int64_t grid = 0;
  int64_t channels = 3;
};
ImageFormat image_format(const ImageOptions& options,
                         const std::optional<ImageFormat>& base,
                         const ModelSize& size);

}  // namespace weft::data
