#pragma once

#include <cstdint>
#include <functional>

namespace weft::kernels {

/// at::parallel_for on LibTorch's own threads. That template silently runs in one thread if
/// compiled without OpenMP; here it is compiled once, with OpenMP.
void parallel_for(int64_t begin,
                  int64_t end,
                  int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body);

/// Maximum number of threads used: 1 within a parallel_for.
int64_t parallel_threads();

}  // namespace weft::kernels
