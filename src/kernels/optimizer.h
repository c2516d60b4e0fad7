#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/cpu/types.h"

namespace weft::kernels {

/// Most rows of an embedding have no gradient in a step, and many have never had one: a mark for
/// every kUpdateBlock elements of a flat tensor, from its begin on, spares the memory that an
/// update of them would move. 0 where all elements of the block are +0.
using BlockMarks = std::vector<uint8_t>;
using cpu::kUpdateBlock;
inline int64_t blocks_of(int64_t elements) { return (elements + kUpdateBlock - 1) / kUpdateBlock; }

/// One slice of the parameter arena with one set of rules. All tensors are 1-D, of equal length,
/// contiguous, on one device.
struct UpdateSlice {
  at::Tensor master;    // fp32, updated
  at::Tensor compute;   // bf16 copy of master, and so again afterwards; undefined in fp32 training
  at::Tensor gradient;  // fp32 or bf16, consumed: zero afterwards
  at::Tensor first;     // fp32: first moment (adamw) or momentum (sgd), updated
  at::Tensor second;    // fp32: second moment (adamw), updated
  /// Marks of the gradient, and of the moments (of one or the other), which are kept up; null: not
  /// known. They change no bit of the result.
  const uint8_t* live_gradient = nullptr;
  uint8_t* live_moments = nullptr;
};

struct AdamwRule {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // decoupled (arXiv:1711.05101)
  int64_t step = 1;         // from 1, for the bias correction
};

/// AdamW in one pass: gradient is multiplied by `gradient_scale` (clipping, 1 / targets) as it is
/// read.
void adamw(const UpdateSlice& slice, const AdamwRule& rule, double gradient_scale);

struct SgdRule {
  double lr = 0;
  double momentum = 0;
  double weight_decay = 0;  // added to the gradient, as torch.optim.SGD does
  bool is_first_step = false;
};
void sgd(const UpdateSlice& slice, const SgdRule& rule, double gradient_scale);

struct Scan {
  double squares = 0;  // their sum in double; a non-finite element makes it non-finite
  BlockMarks live;     // empty where blocks are not looked at: not on this device
};

/// One pass over x, 1-D, fp32 or bf16; the same bits whatever the number of threads.
Scan scan(const at::Tensor& x);

/// Of each tensor, all on one device, as scan() has it; a GPU is waited for once.
std::vector<double> sums_of_squares(const std::vector<at::Tensor>& tensors);

/// sum += x, and x becomes zero, in one pass. 1-D and contiguous, sum fp32, x fp32 or bf16.
void move_into(const at::Tensor& sum, const at::Tensor& x);

}  // namespace weft::kernels
