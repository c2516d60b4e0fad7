#include "kernels/parallel.h"

#include <ATen/Parallel.h>

#if !AT_PARALLEL_OPENMP
// This LibTorch uses its own threads and does not need OpenMP.
#elif !defined(_OPENMP)
#error "compile this file with -fopenmp: at::parallel_for would run in one thread"
#endif

namespace weft::kernels {

void parallel_for(int64_t begin,
                  int64_t end,
                  int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body) {
  // The lambda type is unique to this translation unit, and so is this instance of the template.
  at::parallel_for(begin, end, grain, [&body](int64_t from, int64_t to) { body(from, to); });
}

int64_t parallel_threads() { return at::get_num_threads(); }

}  // namespace weft::kernels
