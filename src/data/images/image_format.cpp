#include "data/images/image_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/string_util.h"
#include "data/error.h"
#include "formats/json.h"

namespace weft::data {

namespace {

using formats::Image;
using formats::ImageSize;
using formats::Json;

constexpr auto kFile = "/preprocessor_config.json";
constexpr int64_t kMaxFileBytes = 1 << 20;

/// Pillow's ids of the filters.
constexpr std::array kFilters = {std::pair{0, Resample::kNearest},
                                 std::pair{2, Resample::kBilinear},
                                 std::pair{3, Resample::kBicubic}};

int filter_number(Resample resample) {
  for (const auto& [number, kind] : kFilters) {
    if (kind == resample) {
      return number;
    }
  }
  return 2;
}

Resample filter_of(const Json& json, const std::string& location) {
  if (!json.contains("resample") || json["resample"].is_null()) {
    return Resample::kBilinear;
  }
  for (const auto& [number, kind] : kFilters) {
    if (json["resample"] == number) {
      return kind;
    }
  }
  throw Error(location + ": resample: must be 0 (nearest), 2 (bilinear) or 3 (bicubic)");
}

/// `{"height": 224, "width": 224}`, or one number.
int64_t side_of(const Json& json, const char* key, const std::string& location) {
  const auto& value = json.contains(key) ? json[key] : Json();
  const auto& height = value.is_object() && value.contains("height") ? value["height"] : value;
  const auto& width = value.is_object() && value.contains("width") ? value["width"] : height;
  if (!height.is_number_integer() || height != width || height < 1 || height > 65536) {
    throw Error(str_cat(location, ": ", key, ": must be {\"height\": N, \"width\": N}"));
  }
  return height.get<int64_t>();
}

std::vector<double> numbers_of(const Json& json,
                               const char* key,
                               int64_t channels,
                               const std::string& location) {
  std::vector<double> numbers;
  if (json.contains(key) && json[key].is_array()) {
    for (const auto& value : json[key]) {
      numbers.push_back(value.is_number() ? value.get<double>() : std::nan(""));
    }
  }
  const bool is_valid = std::all_of(numbers.begin(), numbers.end(),
                                    [](double value) { return std::isfinite(value); });
  if (!is_valid || static_cast<int64_t>(numbers.size()) != channels) {
    throw Error(str_cat(location, ": ", key, ": must be a list of ", channels,
                        " numbers, one per channel"));
  }
  return numbers;
}

bool is_on(const Json& json, const char* key, bool fallback) {
  return json.contains(key) && json[key].is_boolean() ? json[key].get<bool>() : fallback;
}

/// Expands a mean or standard deviation from the config or the file to all channels.
std::vector<double> of_channels(const std::vector<double>& given,
                                const std::vector<double>& fallback,
                                int64_t channels,
                                std::string_view key) {
  const auto& values = given.empty() ? fallback : given;
  if (values.empty()) {
    return std::vector<double>(static_cast<std::size_t>(channels), 0.5);
  }
  if (values.size() == 1) {
    return std::vector<double>(static_cast<std::size_t>(channels), values.front());
  }
  if (static_cast<int64_t>(values.size()) != channels) {
    throw Error(str_cat("data.images.", key, ": ", values.size(), " numbers, but the model has ",
                        channels, " channels"));
  }
  return values;
}

}  // namespace

Image resize_and_crop(const Image& image, const ImagePreprocessorConfig& format) {
  const auto whole = format.crop_pct >= 1
                         ? format.size
                         : std::lround(static_cast<double>(format.size) / format.crop_pct);
  const auto result = resize_image(image, whole, whole, format.resample);
  const int64_t border = (whole - format.size) / 2;
  return whole == format.size ? result
                              : crop_image(result, {border, border, format.size, format.size});
}

std::vector<float> normalize_image(const Image& image, const ImagePreprocessorConfig& format) {
  const auto area = static_cast<std::size_t>(image.height * image.width);
  const auto channels = static_cast<std::size_t>(image.channels);
  std::vector<float> planes(area * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto image_mean = static_cast<float>(format.image_mean[c]);
    const auto image_std = static_cast<float>(format.image_std[c]);
    std::array<float, 256> values{};
    for (std::size_t value = 0; value < values.size(); ++value) {
      values[value] =
          (static_cast<float>(static_cast<double>(value) / 255) - image_mean) / image_std;
    }
    for (std::size_t i = 0; i < area; ++i) {
      planes[c * area + i] = values[image.pixels[i * channels + c]];
    }
  }
  return planes;
}

std::vector<float> patchify(const std::vector<float>& planes,
                            const ImageSize& size,
                            int64_t patch) {
  const int64_t area = size.height * size.width;
  const auto channels = static_cast<int64_t>(planes.size()) / area;
  std::vector<float> patches;
  patches.reserve(planes.size());
  for (int64_t row = 0; row + patch <= size.height; row += patch) {
    for (int64_t column = 0; column + patch <= size.width; column += patch) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t y = row; y < row + patch; ++y) {
          const auto begin = planes.begin() + c * area + y * size.width + column;
          patches.insert(patches.end(), begin, begin + patch);
        }
      }
    }
  }
  return patches;
}

ImageSize native_resolution_size(const ImageSize& size, int64_t patch, int64_t max_patches) {
  const auto height = static_cast<double>(size.height) / static_cast<double>(patch);
  const auto width = static_cast<double>(size.width) / static_cast<double>(patch);
  const double scale =
      std::min(1.0, std::sqrt(static_cast<double>(max_patches) / (height * width)));
  auto rows = std::max<int64_t>(1, static_cast<int64_t>(height * scale + 1e-9));
  auto columns = std::max<int64_t>(1, static_cast<int64_t>(width * scale + 1e-9));
  rows = std::min(rows, max_patches);  // for very elongated images
  columns = std::min(columns, max_patches / rows);
  return {rows * patch, columns * patch};
}

std::optional<ImagePreprocessorConfig> read_preprocessor_config(const std::string& directory,
                                                                int64_t channels) {
  const auto path = directory + kFile;
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  const auto json = formats::read_json(path, kMaxFileBytes);
  if (!json.is_object()) {
    throw Error(path + ": not a JSON object");
  }
  if (channels == 0) {
    const bool is_grey = json.contains("image_mean") && json["image_mean"].size() == 1;
    channels = is_grey ? 1 : 3;
  }
  ImagePreprocessorConfig format{.channels = channels};
  const int64_t size = side_of(json, "size", path);
  format.size = size;
  if (is_on(json, "do_center_crop", false)) {
    format.size = side_of(json, "crop_size", path);
    if (format.size > size) {
      throw Error(path + ": crop_size: larger than size");
    }
    format.crop_pct = static_cast<double>(format.size) / static_cast<double>(size);
  }
  format.resample = filter_of(json, path);
  if (json.contains("most_patches")) {
    const auto& json_max_patches = json["most_patches"];
    if (!json_max_patches.is_number_integer() || json_max_patches < 1 ||
        json_max_patches > (1 << 20)) {
      throw Error(path + ": most_patches: must be a number of at least 1");
    }
    format.max_patches = json_max_patches.get<int64_t>();
  }
  const auto count = static_cast<std::size_t>(channels);
  const bool normalizes = is_on(json, "do_normalize", true);
  format.image_mean =
      normalizes ? numbers_of(json, "image_mean", channels, path) : std::vector<double>(count, 0.0);
  format.image_std =
      normalizes ? numbers_of(json, "image_std", channels, path) : std::vector<double>(count, 1.0);
  if (std::any_of(format.image_std.begin(), format.image_std.end(),
                  [](double value) { return value <= 0; })) {
    throw Error(path + ": image_std: must be more than 0");
  }
  return format;
}

void write_preprocessor_config(const std::string& directory,
                               const ImagePreprocessorConfig& format) {
  const auto square = [](int64_t side) { return Json{{"height", side}, {"width", side}}; };
  const bool crops = format.crop_pct < 1;
  const auto whole =
      crops ? std::lround(static_cast<double>(format.size) / format.crop_pct) : format.size;
  Json json = {{"do_normalize", true},
               {"do_rescale", true},
               {"do_resize", true},
               {"image_mean", format.image_mean},
               {"image_processor_type", crops ? "DeiTImageProcessor" : "ViTImageProcessor"},
               {"image_std", format.image_std},
               {"resample", filter_number(format.resample)},
               {"rescale_factor", 1.0 / 255},
               {"size", square(whole)}};
  if (format.max_patches) {
    json["most_patches"] = *format.max_patches;  // custom key, ignored by other readers
  }
  if (crops) {
    json["do_center_crop"] = true;
    json["crop_size"] = square(format.size);
  }
  FileWriter file(directory + kFile, FileWriter::Mode::kPlain);
  file.write(json.dump(2) + "\n");
  file.commit();
}

ImagePreprocessorConfig make_preprocessor_config(const ImageOptions& options,
                                                 const std::optional<ImagePreprocessorConfig>& base,
                                                 const ModelSize& size) {
  auto format = base.value_or(ImagePreprocessorConfig{});
  format.size = size.pixels;
  format.channels = size.channels;
  format.image_mean = of_channels(options.image_mean, format.image_mean, size.channels, "mean");
  format.image_std = of_channels(options.image_std, format.image_std, size.channels, "std");
  format.resample = options.resample.value_or(format.resample);
  format.crop_pct = options.crop_pct.value_or(format.crop_pct);
  if (options.native_resolution) {
    format.max_patches = options.max_patches.value_or(size.grid * size.grid);
  }
  return format;
}

}  // namespace weft::data
