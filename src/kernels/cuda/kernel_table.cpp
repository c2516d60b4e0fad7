#include "kernels/cuda/kernel_table.h"

#ifdef WEFT_CUDA_KERNELS
#include "kernels/cuda/operations.h"
#endif

namespace weft::kernels::cuda {

#ifdef WEFT_CUDA_KERNELS

namespace {

template <class T>
cpu::Operations<T> gpu_operations() {
  cpu::Operations<T> table{};
  table.dropout = dropout<T>;
  table.norm_forward = norm_forward<T>;
  table.norm_backward = norm_backward<T>;
  table.activation_forward = activation_forward<T>;
  table.activation_backward = activation_backward<T>;
  table.gated_forward = gated_forward<T>;
  table.gated_backward = gated_backward<T>;
  table.column_sum = column_sum<T>;
  table.accumulate_and_zero = accumulate_and_zero<T>;
  table.cross_entropy_rows = cross_entropy_rows<T>;
  table.adamw = adamw<T>;
  table.sgd = sgd<T>;
  table.rotate = rotate<T>;
  return table;
}

}  // namespace

const KernelTable* kernel_table() {
  static const KernelTable table{.single = gpu_operations<float>(),
                                 .half = gpu_operations<cpu::Bf16>()};
  return &table;
}

#else

const KernelTable* kernel_table() { return nullptr; }

#endif

}  // namespace weft::kernels::cuda
