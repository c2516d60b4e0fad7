#pragma once

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "formats/image.h"
#include "formats/json.h"

namespace weft::test {

inline std::string image_folder() { return WEFT_SOURCE_DIR "/tests/reference/images/"; }

inline const formats::Json& image_reference() {
  static const formats::Json kFound =
      formats::read_json(image_folder() + "expected.json", int64_t{1} << 24);
  return kFound;
}

/// An image as scripts/make_image_reference.py writes it.
inline formats::Image image_in(const formats::Json& json) {
  formats::Image image{
      .height = json["height"], .width = json["width"], .channels = json["channels"], .pixels = {}};
  const auto digits = json["pixels"].get<std::string>();
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    image.pixels.push_back(
        static_cast<uint8_t>(std::strtol(digits.substr(i, 2).c_str(), nullptr, 16)));
  }
  return image;
}

/// The largest difference of two pixels; 256 where the images have other sizes.
inline int max_difference(const formats::Image& a, const formats::Image& b) {
  if (a.height != b.height || a.width != b.width || a.channels != b.channels ||
      a.pixels.size() != b.pixels.size()) {
    return 256;
  }
  int gap = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    gap = std::max(gap, std::abs(a.pixels[i] - b.pixels[i]));
  }
  return gap;
}

}  // namespace weft::test
