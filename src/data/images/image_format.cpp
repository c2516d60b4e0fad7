#include "data/images/image_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "data/error.h"
#include "formats/json.h"

namespace weft::data {

namespace {

using formats::Image;
using formats::ImageSize;
using formats::Json;

constexpr auto kFile = "/preprocessor_config.json";
constexpr int64_t kLongestFile = 1 << 20;

/// Pillow's numbers of them.
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

Resample filter_of(const Json& json, const std::string& place) {
  if (!json.contains("resample") || json["resample"].is_null()) {
    return Resample::kBilinear;
  }
  for (const auto& [number, kind] : kFilters) {
    if (json["resample"] == number) {
      return kind;
    }
  }
  throw Error(place + ": resample: must be 0 (nearest), 2 (bilinear) or 3 (bicubic)");
}

/// `{"height": 224, "width": 224}`, or one number.
int64_t side_of(const Json& json, const char* key, const std::string& place) {
  const auto& value = json.contains(key) ? json[key] : Json();
  const auto& height = value.is_object() && value.contains("height") ? value["height"] : value;
  const auto& width = value.is_object() && value.contains("width") ? value["width"] : height;
  if (!height.is_number_integer() || height != width || height < 1 || height > 65536) {
    throw Error(text(place, ": ", key, ": must be {\"height\": N, \"width\": N}"));
  }
  return height.get<int64_t>();
}

std::vector<double> numbers_of(const Json& json,
                               const char* key,
                               int64_t channels,
                               const std::string& place) {
  std::vector<double> numbers;
  if (json.contains(key) && json[key].is_array()) {
    for (const auto& value : json[key]) {
      numbers.push_back(value.is_number() ? value.get<double>() : std::nan(""));
    }
  }
  const bool is_fine = std::all_of(numbers.begin(), numbers.end(),
                                   [](double value) { return std::isfinite(value); });
  if (!is_fine || static_cast<int64_t>(numbers.size()) != channels) {
    throw Error(
        text(place, ": ", key, ": must be a list of ", channels, " numbers, one for each channel"));
  }
  return numbers;
}

bool is_on(const Json& json, const char* key, bool otherwise) {
  return json.contains(key) && json[key].is_boolean() ? json[key].get<bool>() : otherwise;
}

/// For a mean or a deviation that the config or the file gives.
std::vector<double> of_channels(const std::vector<double>& given,
                                const std::vector<double>& otherwise,
                                int64_t channels,
                                std::string_view key) {
  const auto& chosen = given.empty() ? otherwise : given;
  if (chosen.empty()) {
    return std::vector<double>(static_cast<std::size_t>(channels), 0.5);
  }
  if (chosen.size() == 1) {
    return std::vector<double>(static_cast<std::size_t>(channels), chosen.front());
  }
  if (static_cast<int64_t>(chosen.size()) != channels) {
    throw Error(text("data.images.", key, ": ", chosen.size(), " numbers, the model has ", channels,
                     " channels"));
  }
  return chosen;
}

}  // namespace

Image fitted(const Image& image, const ImageFormat& format) {
  const auto whole = format.crop_share >= 1
                         ? format.size
                         : std::lround(static_cast<double>(format.size) / format.crop_share);
  const auto made = resized(image, whole, whole, format.resample);
  const int64_t border = (whole - format.size) / 2;
  return whole == format.size ? made : cropped(made, {border, border, format.size, format.size});
}

std::vector<float> normalized(const Image& image, const ImageFormat& format) {
  const auto area = static_cast<std::size_t>(image.height * image.width);
  const auto channels = static_cast<std::size_t>(image.channels);
  std::vector<float> planes(area * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto mean = static_cast<float>(format.mean[c]);
    const auto deviation = static_cast<float>(format.deviation[c]);
    std::array<float, 256> values{};
    for (std::size_t value = 0; value < values.size(); ++value) {
      values[value] = (static_cast<float>(static_cast<double>(value) / 255) - mean) / deviation;
    }
    for (std::size_t i = 0; i < area; ++i) {
      planes[c * area + i] = values[image.pixels[i * channels + c]];
    }
  }
  return planes;
}

std::vector<float> patches_of(const std::vector<float>& planes,
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

ImageSize shape_kept(const ImageSize& size, int64_t patch, int64_t most_patches) {
  const auto height = static_cast<double>(size.height) / static_cast<double>(patch);
  const auto width = static_cast<double>(size.width) / static_cast<double>(patch);
  const double scale =
      std::min(1.0, std::sqrt(static_cast<double>(most_patches) / (height * width)));
  auto rows = std::max<int64_t>(1, static_cast<int64_t>(height * scale + 1e-9));
  auto columns = std::max<int64_t>(1, static_cast<int64_t>(width * scale + 1e-9));
  rows = std::min(rows, most_patches);  // of very long images
  columns = std::min(columns, most_patches / rows);
  return {rows * patch, columns * patch};
}

std::optional<ImageFormat> read_image_format(const std::string& directory, int64_t channels) {
  const auto path = directory + kFile;
  if (!std::filesystem::exists(path)) {
    return std::nullopt;
  }
  const auto json = formats::read_json(path, kLongestFile);
  if (!json.is_object()) {
    throw Error(path + ": not a JSON object");
  }
  if (channels == 0) {
    const bool is_grey = json.contains("image_mean") && json["image_mean"].size() == 1;
    channels = is_grey ? 1 : 3;
  }
  ImageFormat format{.channels = channels};
  const int64_t size = side_of(json, "size", path);
  format.size = size;
  if (is_on(json, "do_center_crop", false)) {
    format.size = side_of(json, "crop_size", path);
    if (format.size > size) {
      throw Error(path + ": crop_size: larger than size");
    }
    format.crop_share = static_cast<double>(format.size) / static_cast<double>(size);
  }
  format.resample = filter_of(json, path);
  if (json.contains("most_patches")) {
    const auto& most = json["most_patches"];
    if (!most.is_number_integer() || most < 1 || most > (1 << 20)) {
      throw Error(path + ": most_patches: must be a number from 1 on");
    }
    format.most_patches = most.get<int64_t>();
  }
  const auto count = static_cast<std::size_t>(channels);
  const bool normalizes = is_on(json, "do_normalize", true);
  format.mean =
      normalizes ? numbers_of(json, "image_mean", channels, path) : std::vector<double>(count, 0.0);
  format.deviation =
      normalizes ? numbers_of(json, "image_std", channels, path) : std::vector<double>(count, 1.0);
  if (std::any_of(format.deviation.begin(), format.deviation.end(),
                  [](double value) { return value <= 0; })) {
    throw Error(path + ": image_std: must be more than 0");
  }
  return format;
}

void write_image_format(const std::string& directory, const ImageFormat& format) {
  const auto square = [](int64_t side) { return Json{{"height", side}, {"width", side}}; };
  const bool crops = format.crop_share < 1;
  const auto whole =
      crops ? std::lround(static_cast<double>(format.size) / format.crop_share) : format.size;
  Json json = {{"do_normalize", true},
               {"do_rescale", true},
               {"do_resize", true},
               {"image_mean", format.mean},
               {"image_processor_type", crops ? "DeiTImageProcessor" : "ViTImageProcessor"},
               {"image_std", format.deviation},
               {"resample", filter_number(format.resample)},
               {"rescale_factor", 1.0 / 255},
               {"size", square(whole)}};
  if (format.most_patches) {
    json["most_patches"] = *format.most_patches;  // a key of ours, which others pass over
  }
  if (crops) {
    json["do_center_crop"] = true;
    json["crop_size"] = square(format.size);
  }
  FileWriter file(directory + kFile, FileWriter::Mode::kPlain);
  file.write(json.dump(2) + "\n");
  file.commit();
}

ImageFormat image_format(const ImageOptions& options,
                         const std::optional<ImageFormat>& base,
                         const ModelSize& size) {
  auto format = base.value_or(ImageFormat{});
  format.size = size.pixels;
  format.channels = size.channels;
  format.mean = of_channels(options.mean, format.mean, size.channels, "mean");
  format.deviation = of_channels(options.deviation, format.deviation, size.channels, "deviation");
  format.resample = options.resample.value_or(format.resample);
  format.crop_share = options.crop_share.value_or(format.crop_share);
  if (options.keeps_shape) {
    format.most_patches = options.most_patches.value_or(size.grid * size.grid);
  }
  return format;
}

}  // namespace weft::data
