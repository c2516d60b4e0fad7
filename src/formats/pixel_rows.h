#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/image.h"

namespace weft::formats {

/// Images of one size in one block of memory, and the labels that stand beside them.
struct PixelRows {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::vector<uint8_t> pixels;  // (images, height, width, channels)
  std::vector<int64_t> labels;  // empty: none

  int64_t size() const;
  Image image(int64_t index) const;
};

/// What one file may hold, unpacked; more is refused before memory is taken for it.
inline constexpr int64_t kMostPixelBytes = int64_t{16} << 30;

/// Images of an IDX file (http://yann.lecun.com/exdb/mnist): bytes with two dimensions beside their
/// number, or three for colours. Throws Error naming the file: of another kind, cut short, with
/// bytes after its end.
PixelRows read_idx_images(const std::string& path);
/// Labels of an IDX file: bytes with one dimension.
std::vector<int64_t> read_idx_labels(const std::string& path);
/// Whether a file (`.gz` is unpacked) begins as IDX files of bytes do.
bool is_idx(const std::string& path);

/// Records of CIFAR: the label (of CIFAR-100 a coarse and a fine one, of which the fine one
/// counts), then three planes of 32 x 32 pixels.
enum class CifarKind { kCifar10, kCifar100 };
PixelRows read_cifar(const std::string& path, CifarKind kind);

struct PixelTableOptions {
  std::optional<std::string> label = std::nullopt;  // its column, by name or number from 1;
                                                    // nothing: `label`, else the last
  int64_t white = 255;                              // the number that stands for a full pixel
  bool has_labels = true;
};

/// Rows of numbers between commas or tabs, with a header or without: square images, grey, or in
/// three planes of colours.
PixelRows read_pixel_table(const std::string& path, const PixelTableOptions& options);

}  // namespace weft::formats
