#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/error.h"

namespace weft::formats {

/// Larger images are rejected before memory for their pixels is allocated.
inline constexpr int64_t kMaxImagePixels = int64_t{1} << 26;
inline constexpr int64_t kMaxImageSide = 65500;

/// Formats that can be read, for messages.
inline constexpr std::string_view kImageFormats = "PNG, JPEG, WebP, PPM or PGM";

/// Image with rows from top to bottom; a pixel is grey, or red, green, blue.
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

/// Reads a PNG, JPEG, WebP, PPM or PGM file, recognised by its first bytes. Transparency is
/// dropped, not blended; 16 bits become 8. Throws Error naming the file if it has another format,
/// is corrupt, truncated or too large.
Image read_image(const std::string& path);

/// The same from memory; `location` names the image in errors.
Image decode_image(std::string_view bytes, const std::string& location);

/// The image as a PNG file. Throws Error if it has no pixels.
std::string encode_png(const Image& image);

/// Reads the size from the first bytes of an image, without decoding pixels.
ImageSize image_size(std::string_view bytes, const std::string& location);
ImageSize read_image_size(const std::string& path);

/// Whether the name has an image extension (`.png`, `.jpg`, `.jpeg`, `.webp`, `.ppm`, `.pgm`,
/// `.pnm`; case-insensitive).
bool is_image_name(std::string_view path);

/// Throws Error if an image is empty or exceeds the limits.
void check_image_size(const ImageSize& size, const std::string& location);

// One decoder per image format; all throw Error.

Image decode_png(std::string_view bytes, const std::string& location);
ImageSize png_size(std::string_view bytes, const std::string& location);

Image decode_jpeg(std::string_view bytes, const std::string& location);
ImageSize jpeg_size(std::string_view bytes, const std::string& location);

/// A single image, lossy or lossless; always of 3 channels.
Image decode_webp(std::string_view bytes, const std::string& location);
ImageSize webp_size(std::string_view bytes, const std::string& location);

/// PPM and PGM, plain text (P2, P3) or binary (P5, P6).
Image decode_pnm(std::string_view bytes, const std::string& location);
ImageSize pnm_size(std::string_view bytes, const std::string& location);

// Layout of an image in a batch: `ids` gives for each token its patch, or a special token of the
// model. Patch pixels are stored in the same order, without rows for special tokens. `types`, if
// present, is 1 for masked patches.

inline constexpr int64_t kClassToken = -1;
inline constexpr int64_t kDistillationToken = -2;

/// Position in the patch grid, packed into one number.
constexpr int64_t patch_id(int64_t row, int64_t column) { return (row << 16) | column; }
constexpr int64_t patch_row(int64_t id) { return id >> 16; }
constexpr int64_t patch_column(int64_t id) { return id & 0xffff; }

}  // namespace weft::formats
