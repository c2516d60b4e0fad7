#include "kernels/cpu/requested_level.h"

#include <cstdlib>

namespace weft::kernels::cpu {

std::string_view requested_level() {
  if (const char* const own = std::getenv("WEFT_CPU_LEVEL"); own != nullptr) {
    return own;
  }
  const char* const libtorch = std::getenv("ATEN_CPU_CAPABILITY");
  const std::string_view capability = libtorch == nullptr ? "" : libtorch;
  return capability == "default" ? "plain" : capability;
}

}  // namespace weft::kernels::cpu
