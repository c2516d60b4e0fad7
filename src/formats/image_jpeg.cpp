#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
// After jpeglib.h, which jerror.h needs but does not include.
#include <jerror.h>

#include "base/string_util.h"
#include "formats/image.h"

namespace weft::formats {

namespace {

constexpr int kMaxScans = 500;  // of a progressive image; more would be a denial-of-service attempt
constexpr long kMaxMemory = 512L << 20;

/// State and callbacks for libjpeg. It reports errors by longjmp over its own frames: no object
/// with a destructor may be created between `setjmp` and its calls.
struct JpegReader {
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct jpeg{};
  std::jmp_buf jump_target{};
  char message[JMSG_LENGTH_MAX] = "";

  JpegReader() {
    jpeg.err = jpeg_std_error(&errors);
    errors.error_exit = fail;
    errors.emit_message = look_at;
    jpeg.client_data = this;
    progress.progress_monitor = watch;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg); }

  [[noreturn]] static void fail(j_common_ptr from) {
    auto* self = static_cast<JpegReader*>(from->client_data);
    from->err->format_message(from, self->message);
    std::longjmp(self->jump_target, 1);
  }
  /// Handles warnings. Most are ignored; a truncated image is an error.
  static void look_at(j_common_ptr from, int level) {
    if (level < 0 && from->err->msg_code == JWRN_JPEG_EOF) {
      fail(from);
    }
  }
  static void watch(j_common_ptr from) {
    if (from->is_decompressor != 0 &&
        reinterpret_cast<j_decompress_ptr>(from)->input_scan_number > kMaxScans) {
      from->err->msg_code = JERR_NOTIMPL;
      fail(from);
    }
  }
};

bool read_jpeg_head(JpegReader& reader, const unsigned char* bytes, unsigned long count) {
  if (setjmp(reader.jump_target) != 0) {
    return false;
  }
  jpeg_create_decompress(&reader.jpeg);
  reader.jpeg.client_data = &reader;
  reader.jpeg.progress = &reader.progress;
  reader.jpeg.mem->max_memory_to_use = kMaxMemory;
  jpeg_mem_src(&reader.jpeg, bytes, count);
  jpeg_read_header(&reader.jpeg, TRUE);
  return true;
}

bool begin(JpegReader& reader) {
  if (setjmp(reader.jump_target) != 0) {
    return false;
  }
  const auto stored = reader.jpeg.jpeg_color_space;
  reader.jpeg.out_color_space = stored == JCS_GRAYSCALE                    ? JCS_GRAYSCALE
                                : stored == JCS_CMYK || stored == JCS_YCCK ? JCS_CMYK
                                                                           : JCS_RGB;
  jpeg_start_decompress(&reader.jpeg);
  return true;
}

bool read_rows(JpegReader& reader, unsigned char* pixels, std::size_t row) {
  if (setjmp(reader.jump_target) != 0) {
    return false;
  }
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    JSAMPROW at = pixels + reader.jpeg.output_scanline * row;
    jpeg_read_scanlines(&reader.jpeg, &at, 1);
  }
  jpeg_finish_decompress(&reader.jpeg);
  return true;
}

[[noreturn]] void refuse_jpeg(const JpegReader& reader, const std::string& location) {
  throw Error(str_cat(location, ": damaged JPEG: ", reader.message));
}

ImageSize jpeg_head_of(JpegReader& reader, std::string_view bytes, const std::string& location) {
  if (!read_jpeg_head(reader, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size())) {
    refuse_jpeg(reader, location);
  }
  const ImageSize size = {static_cast<int64_t>(reader.jpeg.image_height),
                          static_cast<int64_t>(reader.jpeg.image_width)};
  check_image_size(size, location);
  return size;
}

/// Converts CMYK to RGB. Adobe programs store inverted values.
Image cmyk_to_rgb(const Image& image, bool is_inverted) {
  Image made{.height = image.height, .width = image.width, .channels = 3, .pixels = {}};
  made.pixels.reserve(image.pixels.size() / 4 * 3);
  for (std::size_t i = 0; i < image.pixels.size(); i += 4) {
    for (std::size_t c = 0; c < 3; ++c) {
      const int colour = is_inverted ? image.pixels[i + c] : 255 - image.pixels[i + c];
      const int black = is_inverted ? image.pixels[i + 3] : 255 - image.pixels[i + 3];
      made.pixels.push_back(static_cast<uint8_t>((colour * black + 127) / 255));
    }
  }
  return made;
}

}  // namespace

ImageSize jpeg_size(std::string_view bytes, const std::string& location) {
  JpegReader reader;
  return jpeg_head_of(reader, bytes, location);
}

Image decode_jpeg(std::string_view bytes, const std::string& location) {
  JpegReader reader;
  const auto size = jpeg_head_of(reader, bytes, location);
  if (!begin(reader)) {
    refuse_jpeg(reader, location);
  }
  Image image{.height = size.height,
              .width = size.width,
              .channels = reader.jpeg.output_components,
              .pixels = {}};
  const auto row = static_cast<std::size_t>(image.width * image.channels);
  image.pixels.resize(row * static_cast<std::size_t>(image.height));
  if (!read_rows(reader, image.pixels.data(), row)) {
    refuse_jpeg(reader, location);
  }
  return image.channels == 4 ? cmyk_to_rgb(image, reader.jpeg.saw_Adobe_marker != 0) : image;
}

}  // namespace weft::formats
