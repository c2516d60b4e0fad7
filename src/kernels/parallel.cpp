#include "kernels/parallel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#if !AT_PARALLEL_OPENMP
// This LibTorch uses its own threads and does not need OpenMP.
#elif !defined(_OPENMP) && !defined(__clang_analyzer__)
#error "compile this file with -fopenmp: at::parallel_for would run in one thread"
#endif

namespace weft::kernels {
namespace {

/// Calls each function that LibTorch takes from MKL once, for each type. MKL chooses the code of
/// such a function in its first call; if two threads make it at once, one of them may use code with
/// errors of 1e-4 (https://github.com/pytorch/pytorch/issues/188792).
bool call_mkl_functions() {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const auto x = at::full({1}, 0.5, type);
    for (const auto function :
         {at::acos, at::asin, at::atan, at::cos, at::erf, at::erfc, at::erfinv, at::exp, at::log,
          at::log10, at::log2, at::sin, at::sqrt, at::tan, at::tanh, at::trunc}) {
      function(x);
    }
  }
  return true;
}

/// Before main, when there is one thread.
[[maybe_unused]] const bool kCalledMklFunctions = call_mkl_functions();

}  // namespace

void parallel_for(int64_t begin,
                  int64_t end,
                  int64_t grain,
                  const std::function<void(int64_t, int64_t)>& body) {
  // The lambda type is unique to this translation unit, and so is this instance of the template.
  at::parallel_for(begin, end, grain, [&body](int64_t from, int64_t to) { body(from, to); });
}

int64_t parallel_threads() { return at::in_parallel_region() ? 1 : at::get_num_threads(); }

}  // namespace weft::kernels
