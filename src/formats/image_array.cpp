#include "formats/image_array.h"

namespace weft::formats {

int64_t ImageArray::size() const {
  const int64_t bytes = height * width * channels;
  return bytes == 0 ? 0 : static_cast<int64_t>(pixels.size()) / bytes;
}

Image ImageArray::image(int64_t index) const {
  const int64_t bytes = height * width * channels;
  const auto begin = pixels.begin() + index * bytes;
  return {.height = height, .width = width, .channels = channels, .pixels = {begin, begin + bytes}};
}

}  // namespace weft::formats
