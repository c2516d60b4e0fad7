#include "formats/image.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/file.h"
#include "base/string_util.h"

namespace weft::formats {

namespace {

/// Decoder of one image format, recognised by its first bytes.
struct Codec {
  std::string_view begin;
  std::string_view format;  // follows 4 bytes of size after `begin`; empty if `begin` says all
  Image (*decode)(std::string_view, const std::string&);
  ImageSize (*size)(std::string_view, const std::string&);
};

constexpr std::array kCodecs = {
    Codec{"\x89PNG\r\n\x1a\n", "", decode_png, png_size},
    Codec{"\xff\xd8\xff", "", decode_jpeg, jpeg_size},
    Codec{"RIFF", "WEBP", decode_webp, webp_size},
    Codec{"P2", "", decode_pnm, pnm_size},
    Codec{"P3", "", decode_pnm, pnm_size},
    Codec{"P5", "", decode_pnm, pnm_size},
    Codec{"P6", "", decode_pnm, pnm_size},
};

const Codec& codec_of(std::string_view bytes, const std::string& location) {
  const auto* found = std::find_if(kCodecs.begin(), kCodecs.end(), [&](const auto& codec) {
    constexpr std::size_t kFormatAt = 8;
    return bytes.starts_with(codec.begin) &&
           (codec.format.empty() ||
            bytes.substr(std::min(bytes.size(), kFormatAt)).starts_with(codec.format));
  });
  if (found == kCodecs.end()) {
    throw Error(location + (bytes.empty() ? ": an empty file" : ": not an image") + ", must be " +
                std::string(kImageFormats));
  }
  return *found;
}

}  // namespace

void check_image_size(const ImageSize& size, const std::string& location) {
  if (size.height < 1 || size.width < 1) {
    throw Error(location + ": an image without pixels");
  }
  if (size.height > kMaxImageSide || size.width > kMaxImageSide ||
      size.height * size.width > kMaxImagePixels) {
    throw Error(str_cat(location, ": an image of ", size.width, " x ", size.height,
                        " pixels, allowed are at most ", with_commas(kMaxImagePixels),
                        " in total and ", with_commas(kMaxImageSide), " per side"));
  }
}

Image decode_image(std::string_view bytes, const std::string& location) {
  return codec_of(bytes, location).decode(bytes, location);
}

ImageSize image_size(std::string_view bytes, const std::string& location) {
  return codec_of(bytes, location).size(bytes, location);
}

Image read_image(const std::string& path) { return decode_image(MappedFile(path).text(), path); }

ImageSize read_image_size(const std::string& path) {
  return image_size(MappedFile(path).text(), path);
}

bool is_image_name(std::string_view path) {
  constexpr std::array<std::string_view, 7> kEndings = {".png", ".jpg", ".jpeg", ".webp",
                                                        ".ppm", ".pgm", ".pnm"};
  std::string low(path.substr(path.size() - std::min<std::size_t>(path.size(), 5)));
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char character) {
    return static_cast<char>(std::tolower(character));
  });
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](auto ending) { return low.ends_with(ending); });
}

}  // namespace weft::formats
