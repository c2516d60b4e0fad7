#include <algorithm>
#include <cmath>

#include "data/images/image_dataset.h"

namespace weft::data {

namespace {

constexpr uint8_t kHiddenGrey = 128;

uint8_t byte_of(double value) {
  return static_cast<uint8_t>(std::clamp(std::lround(255 * value), 0L, 255L));
}

}  // namespace

formats::Image example_image(const Example& example,
                             int64_t patch,
                             const ImagePreprocessorConfig& format,
                             bool shows_hidden) {
  const int64_t area = patch * patch;
  const int64_t channels = example.patch_width / area;
  int64_t rows = 0;
  int64_t columns = 0;
  for (const auto id : example.ids) {
    rows = std::max(rows, id < 0 ? 0 : formats::patch_row(id) + 1);
    columns = std::max(columns, id < 0 ? 0 : formats::patch_column(id) + 1);
  }
  formats::Image image{.height = rows * patch,
                       .width = columns * patch,
                       .channels = channels,
                       .pixels = std::vector<uint8_t>(
                           static_cast<std::size_t>(rows * columns * example.patch_width))};
  const float* values = example.patches.data();  // special tokens have none
  for (std::size_t i = 0; i < example.ids.size(); ++i) {
    const auto id = example.ids[i];
    if (id < 0) {
      continue;
    }
    const bool is_hidden =
        !shows_hidden && !example.token_type_ids.empty() && example.token_type_ids[i] != 0;
    for (int64_t at = 0; at < example.patch_width; ++at) {
      const auto channel = static_cast<std::size_t>(at / area);
      const int64_t y = formats::patch_row(id) * patch + at % area / patch;
      const int64_t x = formats::patch_column(id) * patch + at % patch;
      const auto place = (y * image.width + x) * channels + static_cast<int64_t>(channel);
      image.pixels[static_cast<std::size_t>(place)] =
          is_hidden ? kHiddenGrey
                    : byte_of(values[at] * format.image_std[channel] + format.image_mean[channel]);
    }
    values += example.patch_width;
  }
  return image;
}

}  // namespace weft::data
