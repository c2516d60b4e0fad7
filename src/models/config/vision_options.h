#pragma once

#include <cstdint>

namespace weft::models {

/// What is special to a model of images (arXiv:2010.11929, arXiv:2012.12877).
struct VisionOptions {
  int64_t image_size = 0;  // pixels of each side; 0: no model of images
  int64_t patch = 16;      // pixels of each side of a patch
  int64_t channels = 3;
  bool has_class_token = true;
  bool has_distillation_token = false;  // DeiT
  bool query_key_value_bias = true;
  double path_dropout = 0;  // stochastic depth: of the last layer, less in those before

  int64_t grid() const { return patch > 0 ? image_size / patch : 0; }  // patches of each side
  int64_t patch_width() const { return channels * patch * patch; }
  bool operator==(const VisionOptions&) const = default;
};

}  // namespace weft::models
