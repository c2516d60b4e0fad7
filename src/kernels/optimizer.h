#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/cpu/types.h"

namespace weft::kernels {

/// Most rows of an embedding have no gradient in a step, and many never had one. One mark per
/// kUpdateBlock elements of a flat tensor saves the memory traffic of updating them. 0: all
/// elements of the block are +0.
using NonzeroBlocks = std::vector<uint8_t>;
using cpu::kUpdateBlock;
inline int64_t block_count(int64_t elements) {
  return (elements + kUpdateBlock - 1) / kUpdateBlock;
}

/// Slice of the flat parameter buffer that shares one set of hyperparameters. All tensors are 1-D,
/// of equal length, contiguous, on one device.
struct UpdateSlice {
  at::Tensor master;    // fp32, updated
  at::Tensor compute;   // bf16 copy of master, kept in sync; undefined in fp32 training
  at::Tensor gradient;  // fp32 or bf16, consumed: zeroed by the update
  at::Tensor first;     // fp32: first moment (adamw) or momentum (sgd), updated
  at::Tensor second;    // fp32: second moment (adamw), updated
  /// Nonzero marks of the gradient, and of the moments (either one), which the update maintains;
  /// null: unknown. They do not change a bit of the result.
  const uint8_t* nonzero_gradient = nullptr;
  uint8_t* nonzero_moments = nullptr;
};

/// What remains to be done after an update has changed `master` and the state: refreshes `compute`,
/// zeroes the gradient and marks all moments as nonzero. The vector kernels do it in the same pass.
void finish_update(const UpdateSlice& slice);

struct AdamwRule {
  double lr = 0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;  // decoupled (arXiv:1711.05101)
  int64_t step = 1;         // from 1, for the bias correction
};

/// AdamW in one pass; the gradient is multiplied by `gradient_scale` (clipping, 1 / targets) when
/// it is read.
void adamw(const UpdateSlice& slice, const AdamwRule& rule, double gradient_scale);

struct SgdRule {
  double lr = 0;
  double momentum = 0;
  double weight_decay = 0;  // added to the gradient, as in torch.optim.SGD
  bool is_first_step = false;
};
void sgd(const UpdateSlice& slice, const SgdRule& rule, double gradient_scale);

struct SquaredNorm {
  double value = 0;              // sum of squares in double; non-finite if any element is
  NonzeroBlocks nonzero_blocks;  // empty where blocks are not inspected: not on this device
};

/// Elements of a flat tensor whose squares are added up first. A multiple of kUpdateBlock.
inline constexpr int64_t kSumBlock = 1024;

struct SumsOfSquares {
  /// One sum in double for each kSumBlock elements; one for all elements where blocks are not
  /// inspected. Non-finite if any element is.
  std::vector<double> sums;
  NonzeroBlocks nonzero_blocks;  // as in SquaredNorm
};

/// One pass over x, 1-D, fp32 or bf16; bit-identical for any number of threads. A sum depends on
/// the elements of its block only.
SumsOfSquares sums_of_squares(const at::Tensor& x);

/// The sums of x, added in order.
SquaredNorm squared_norm(const at::Tensor& x);

/// squared_norm() of each tensor, all on one device; synchronises with a GPU only once.
std::vector<double> squared_norms(const std::vector<at::Tensor>& tensors);

/// sum += x, then zeroes x, in one pass. 1-D and contiguous, sum fp32, x fp32 or bf16.
void accumulate_and_zero(const at::Tensor& sum, const at::Tensor& x);

}  // namespace weft::kernels
