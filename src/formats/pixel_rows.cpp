#include "formats/pixel_rows.h"

namespace weft::formats {

int64_t PixelRows::size() const {
  const int64_t bytes = height * width * channels;
  return bytes == 0 ? 0 : static_cast<int64_t>(pixels.size()) / bytes;
}

Image PixelRows::image(int64_t index) const {
  const int64_t bytes = height * width * channels;
  const auto begin = pixels.begin() + index * bytes;
  return {.height = height, .width = width, .channels = channels, .pixels = {begin, begin + bytes}};
}

}  // namespace weft::formats
