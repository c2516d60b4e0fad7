#pragma once

#include <string>
#include <string_view>

#include "formats/image.h"

/// One decoder per image format; all throw Error.
namespace weft::formats {

Image decode_png(std::string_view bytes, const std::string& location);
ImageSize png_size(std::string_view bytes, const std::string& location);

Image decode_jpeg(std::string_view bytes, const std::string& location);
ImageSize jpeg_size(std::string_view bytes, const std::string& location);

/// PPM and PGM, plain text (P2, P3) or binary (P5, P6).
Image decode_pnm(std::string_view bytes, const std::string& location);
ImageSize pnm_size(std::string_view bytes, const std::string& location);

}  // namespace weft::formats
