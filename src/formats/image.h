#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/error.h"

namespace weft::formats {

/// Larger images are refused before any memory is taken for their pixels.
inline constexpr int64_t kMostImagePixels = int64_t{1} << 26;
inline constexpr int64_t kLongestImageSide = 65500;

/// Rows from above, in each pixel grey, or red, green, blue.
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;         // 1 or 3
  std::vector<uint8_t> pixels;  // (height, width, channels)

  bool operator==(const Image&) const = default;
};

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};

/// Reads a PNG, JPEG, PPM or PGM file, told apart by its first bytes. Transparency is dropped, not
/// blended; 16 bits become 8. Throws Error naming the file: of another kind, damaged, cut short,
/// too large.
Image read_image(const std::string& path);

/// The same from bytes; `place` names them in errors.
Image decode_image(std::string_view bytes, const std::string& place);

/// Of an image whose first bytes these are; no pixels are unpacked.
ImageSize image_size(std::string_view bytes, const std::string& place);
ImageSize read_image_size(const std::string& path);

/// Whether the name ends as those of such files do (`.png`, `.jpg`, `.jpeg`, `.ppm`, `.pgm`,
/// `.pnm`), in any letter case.
bool is_image_name(std::string_view path);

/// Throws Error where an image would be empty or beyond the limits.
void check_image_size(const ImageSize& size, const std::string& place);

}  // namespace weft::formats
