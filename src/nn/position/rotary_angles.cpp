#include "nn/position/rotary_angles.h"

#include <algorithm>

namespace weft::nn {

const at::Tensor& RotaryAngles::table(int64_t longest, const at::Device& device) {
  if (options_.theta == 0) {
    return table_;
  }
  const int64_t rows = table_.defined() ? table_.size(0) : 0;
  if (rows < longest || rows == 0 || table_.device() != device) {
    constexpr int64_t kFewest = 64;
    table_ = kernels::rotary_table(std::max({longest, 2 * rows, kFewest}), options_, device);
  }
  return table_;
}

}  // namespace weft::nn
