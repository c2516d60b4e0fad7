#include "nn/depth/drop_path.h"

#include <algorithm>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/random.h"
#include "kernels/to_device.h"

namespace weft::nn {

namespace {

/// `sequence`: index in the step.
bool is_dropped(double rate, uint32_t site, int64_t sequence, const ForwardContext& context) {
  Random random(hash_combine(context.seed, site), RandomPurpose::kDropout, context.step,
                static_cast<uint64_t>(sequence));
  return random.uniform_double() < rate;
}

}  // namespace

at::Tensor drop_path(const at::Tensor& branch,
                     double rate,
                     uint32_t site,
                     const ForwardContext& context) {
  if (context.rate(rate) == 0) {
    return branch;
  }
  auto factors = at::empty({branch.size(0), 1}, at::kFloat);  // (rows, 1)
  auto* row = factors.data_ptr<float>();
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    const bool drops = is_dropped(rate, site, context.first_sequence + b, context);
    row = std::fill_n(row, context.layout.length(b),
                      drops ? 0.0F : static_cast<float>(1 / (1 - rate)));
  }
  return branch * kernels::to_device(factors, branch.device()).to(branch.scalar_type());
}

std::optional<SequenceSelection> sequences_not_dropped(double rate,
                                                       uint32_t site,
                                                       const ForwardContext& context) {
  // A carried state is that of all sequences.
  if (context.rate(rate) == 0 || !context.earlier_lengths || !context.streams.empty()) {
    return std::nullopt;
  }
  std::vector<int64_t> kept;
  for (int64_t b = 0; b < context.layout.sequences(); ++b) {
    if (!is_dropped(rate, site, context.first_sequence + b, context)) {
      kept.push_back(b);
    }
  }
  // Dropout keys count the kept sequences of the step, so that they do not depend on micro-batches.
  int64_t first_row = 0;
  std::vector<int64_t> earlier_lengths;
  for (std::size_t b = 0; b < context.earlier_lengths->size(); ++b) {
    if (!is_dropped(rate, site, static_cast<int64_t>(b), context)) {
      earlier_lengths.push_back((*context.earlier_lengths)[b]);
      first_row += earlier_lengths.back();
    }
  }
  auto result = SequenceSelection::of(kept, context);
  result.context.first_row = first_row;
  result.context.first_sequence = static_cast<int64_t>(earlier_lengths.size());
  result.context.earlier_lengths = std::move(earlier_lengths);
  return result;
}

}  // namespace weft::nn
