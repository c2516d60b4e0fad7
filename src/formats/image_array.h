#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/image.h"

namespace weft::formats {

/// Images of equal size in one block of memory, with optional labels.
struct ImageArray {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<uint8_t> pixels;  // (images, height, width, channels)
  std::vector<int64_t> labels;  // empty: none

  int64_t size() const {
    const int64_t bytes = height * width * channels;
    return bytes == 0 ? 0 : static_cast<int64_t>(pixels.size()) / bytes;
  }
  Image image(int64_t index) const {
    const int64_t bytes = height * width * channels;
    const auto begin = pixels.begin() + index * bytes;
    return {
        .height = height, .width = width, .channels = channels, .pixels = {begin, begin + bytes}};
  }
};

/// Maximum decoded size of one file; larger files are rejected before memory is allocated.
inline constexpr int64_t kMaxPixelBytes = int64_t{16} << 30;

/// Reads images from an IDX file (http://yann.lecun.com/exdb/mnist): bytes with shape (N, H, W), or
/// (N, H, W, C) for colour. Throws Error naming the file if it has another format, is truncated or
/// has trailing bytes.
ImageArray read_idx_images(const std::string& path);
/// Reads labels from an IDX file: bytes with one dimension.
std::vector<int64_t> read_idx_labels(const std::string& path);
/// Whether a file (`.gz` is decompressed) starts like an IDX file of bytes.
bool is_idx(const std::string& path);

/// CIFAR records: the label (CIFAR-100: coarse, then fine; the fine one is used), then three planes
/// of 32 x 32 pixels.
enum class CifarKind { kCifar10, kCifar100 };
ImageArray read_cifar(const std::string& path, CifarKind kind);

struct ImageCsvOptions {
  std::optional<std::string> label = std::nullopt;  // label column, by name or 1-based index;
                                                    // nullopt: `label`, else the last
  int64_t white = 255;                              // value of a white pixel
  bool has_labels = true;
};

/// Reads comma- or tab-separated rows of numbers, with or without a header: square images, grey or
/// three colour planes.
ImageArray read_image_csv(const std::string& path, const ImageCsvOptions& options);

}  // namespace weft::formats
