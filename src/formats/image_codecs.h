#pragma once

#include <string>
#include <string_view>

#include "formats/image.h"

/// One decoder for each kind of image file; all throw Error.
namespace weft::formats {

Image decode_png(std::string_view bytes, const std::string& place);
ImageSize png_size(std::string_view bytes, const std::string& place);

Image decode_jpeg(std::string_view bytes, const std::string& place);
ImageSize jpeg_size(std::string_view bytes, const std::string& place);

/// PPM and PGM, with digits (P2, P3) or bytes (P5, P6).
Image decode_pnm(std::string_view bytes, const std::string& place);
ImageSize pnm_size(std::string_view bytes, const std::string& place);

}  // namespace weft::formats
