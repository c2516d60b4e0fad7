#pragma once

#include <cstdint>

namespace weft::models {

/// Options of image models (arXiv:2010.11929, arXiv:2012.12877).
struct VisionOptions {
  int64_t image_size = 0;   // pixels per side; 0: not an image model
  int64_t patch_size = 16;  // pixels per side of a patch
  int64_t channels = 3;
  bool has_class_token = true;
  bool has_distillation_token = false;  // DeiT
  bool qkv_bias = true;
  double drop_path_rate = 0;  // stochastic depth: of the last layer, lower in earlier ones

  int64_t grid() const { return patch_size > 0 ? image_size / patch_size : 0; }  // patches per side
  int64_t patch_width() const { return channels * patch_size * patch_size; }
  bool operator==(const VisionOptions&) const = default;
};

}  // namespace weft::models
