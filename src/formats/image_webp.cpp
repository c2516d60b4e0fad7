#include <webp/decode.h>

#include "base/string_util.h"
#include "formats/image.h"

namespace weft::formats {

namespace {

const uint8_t* data_of(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

WebPBitstreamFeatures webp_head(std::string_view bytes, const std::string& location) {
  WebPBitstreamFeatures head;
  const auto status = WebPGetFeatures(data_of(bytes), bytes.size(), &head);
  if (status != VP8_STATUS_OK) {
    throw Error(str_cat(location, ": damaged WebP: ",
                        status == VP8_STATUS_NOT_ENOUGH_DATA ? "the file is truncated"
                                                             : "its header is not valid"));
  }
  check_image_size({.height = head.height, .width = head.width}, location);
  return head;
}

}  // namespace

ImageSize webp_size(std::string_view bytes, const std::string& location) {
  const auto head = webp_head(bytes, location);
  return {.height = head.height, .width = head.width};
}

Image decode_webp(std::string_view bytes, const std::string& location) {
  const auto head = webp_head(bytes, location);
  if (head.has_animation != 0) {
    throw Error(location + ": an animated WebP, must be a single image");
  }
  Image image{.height = head.height, .width = head.width, .channels = 3, .pixels = {}};
  image.pixels.resize(static_cast<std::size_t>(image.height * image.width * image.channels));
  const auto row = static_cast<int>(image.width * image.channels);
  if (WebPDecodeRGBInto(data_of(bytes), bytes.size(), image.pixels.data(), image.pixels.size(),
                        row) == nullptr) {
    throw Error(location + ": damaged WebP: its pixels cannot be decoded");
  }
  return image;
}

}  // namespace weft::formats
