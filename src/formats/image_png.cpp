#include <csetjmp>
#include <cstring>

#include <png.h>

#include "base/string_util.h"
#include "formats/image.h"

namespace weft::formats {

namespace {

constexpr png_alloc_size_t kMaxChunkBytes = png_alloc_size_t{8} << 20;

/// State and callbacks for libpng. It reports errors by longjmp over its own frames: no object with
/// a destructor may be created between `setjmp` and its calls.
struct PngReader {
  std::string_view rest;
  char message[128] = "";
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit PngReader(std::string_view bytes) : rest(bytes) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, warn);
    info = png != nullptr ? png_create_info_struct(png) : nullptr;
    if (info != nullptr) {
      png_set_read_fn(png, this, read);
    }
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

  [[noreturn]] static void fail(png_structp from, png_const_charp what) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(from));
    std::strncpy(self->message, what, sizeof(self->message) - 1);
    png_longjmp(from, 1);
  }
  static void warn(png_structp /*from*/, png_const_charp /*what*/) {}
  static void read(png_structp from, png_bytep bytes, std::size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(from));
    if (self->rest.size() < count) {
      png_error(from, "the file is truncated");
    }
    std::memcpy(bytes, self->rest.data(), count);
    self->rest.remove_prefix(count);
  }
};

bool read_png_head(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) {
    return false;
  }
  // check_image_size checks the image dimensions, with a better message.
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(reader.png, kMaxChunkBytes);
  png_read_info(reader.png, reader.info);
  return true;
}

/// Converts any file to 8-bit grey or RGB.
bool set_transforms(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) {
    return false;
  }
  png_set_palette_to_rgb(reader.png);
  png_set_expand_gray_1_2_4_to_8(reader.png);
  png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_pixels(PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) {
    return false;
  }
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

[[noreturn]] void refuse_png(const PngReader& reader, const std::string& location) {
  throw Error(str_cat(location, ": damaged PNG: ", reader.message));
}

ImageSize png_head_of(PngReader& reader, const std::string& location) {
  if (reader.info == nullptr || !read_png_head(reader)) {
    refuse_png(reader, location);
  }
  const ImageSize size = {static_cast<int64_t>(png_get_image_height(reader.png, reader.info)),
                          static_cast<int64_t>(png_get_image_width(reader.png, reader.info))};
  check_image_size(size, location);
  return size;
}

}  // namespace

ImageSize png_size(std::string_view bytes, const std::string& location) {
  PngReader reader(bytes);
  return png_head_of(reader, location);
}

Image decode_png(std::string_view bytes, const std::string& location) {
  PngReader reader(bytes);
  const auto size = png_head_of(reader, location);
  if (!set_transforms(reader)) {
    refuse_png(reader, location);
  }
  Image image{.height = size.height,
              .width = size.width,
              .channels = png_get_channels(reader.png, reader.info),
              .pixels = {}};
  const auto row = static_cast<std::size_t>(image.width * image.channels);
  if ((image.channels != 1 && image.channels != 3) ||
      png_get_rowbytes(reader.png, reader.info) != row) {
    throw Error(location + ": damaged PNG: invalid pixel format");
  }
  image.pixels.resize(row * static_cast<std::size_t>(image.height));
  std::vector<png_bytep> rows;
  rows.reserve(static_cast<std::size_t>(image.height));
  for (int64_t y = 0; y < image.height; ++y) {
    rows.push_back(image.pixels.data() + static_cast<std::size_t>(y) * row);
  }
  if (!read_pixels(reader, rows.data())) {
    refuse_png(reader, location);
  }
  return image;
}

std::string encode_png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) ==
      0) {
    throw Error(str_cat("an image of ", image.width, " x ", image.height,
                        " pixels cannot be written as PNG: ", header.message));
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace weft::formats
