#include "nn/depth/halting.h"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "nn/auxiliary_losses.h"
#include "nn/pooling/pooling.h"
#include "nn/row_selection.h"

namespace weft::nn {

namespace {

/// The tokens that have not halted; the functions work on tensors with a row for each token.
class RunningTokens {
 public:
  explicit RunningTokens(const ForwardContext& context) : context_(context), rows_(all(context)) {}

  bool empty() const { return rows_.empty(); }
  /// nullptr: all tokens.
  const RowSelection* selection() const { return selection_ ? &*selection_ : nullptr; }
  const kernels::Layout& layout() const {
    return selection_ ? selection_->layout : context_.layout;
  }

  at::Tensor select(const at::Tensor& x) const {
    return selection_ ? select_distinct_rows(x, selection_->index) : x;
  }
  at::Tensor scatter(const at::Tensor& rows) const {
    return selection_ ? scatter_distinct_rows(rows, selection_->index, context_.layout.tokens())
                      : rows;
  }
  at::Tensor replace(const at::Tensor& x, const at::Tensor& rows) const {
    return selection_ ? x.index_copy(0, selection_->index, rows) : rows;
  }

  /// `halts`: (M, 1) bool.
  void remove(const at::Tensor& halts) {
    const auto host = halts.cpu().contiguous();
    const auto* const halted = host.const_data_ptr<bool>();
    std::vector<int64_t> rows;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!halted[i]) {
        rows.push_back(rows_[i]);
      }
    }
    if (rows.size() < rows_.size()) {
      rows_ = std::move(rows);
      selection_ = RowSelection::from_rows(rows_, context_, context_.first_row);
    }
  }

 private:
  static std::vector<int64_t> all(const ForwardContext& context) {
    std::vector<int64_t> rows(static_cast<std::size_t>(context.layout.tokens()));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }

  const ForwardContext& context_;
  std::vector<int64_t> rows_;
  std::optional<RowSelection> selection_;
};

}  // namespace

HaltingImpl::HaltingImpl(int64_t dim, const HaltingOptions& options) : options_(options) {
  weight_ = register_parameter("weight", at::empty({1, dim}));
  bias_ = register_parameter("bias", at::empty({1}));
}

void HaltingImpl::initialize(const std::string& name, at::Tensor parameter) const {
  if (name == "bias") {
    parameter.fill_(options_.initial_bias);
  }
}

at::Tensor HaltingImpl::probabilities(const at::Tensor& states,
                                      const kernels::Layout& layout) const {
  const auto logits = kernels::linear(states, weight_, bias_);  // (M, 1)
  auto own = logits.to(kernels::accumulate_type(logits)).sigmoid();
  if (options_.unit == HaltingUnit::kToken) {
    return own;
  }
  const auto lengths = layout.device_lengths();
  const auto means = segment_sum(own, layout).to(own.scalar_type()) /
                     lengths.clamp_min(1).unsqueeze(1).to(own.scalar_type());  // (B, 1)
  return means.repeat_interleave(lengths, 0, /*output_size=*/own.size(0));
}

at::Tensor HaltingImpl::forward(const at::Tensor& x,
                                const ForwardContext& context,
                                const Pass& pass,
                                const Layer& layer) {
  RunningTokens running(context);
  auto states = x;
  at::Tensor result;
  at::Tensor sums;    // of the probabilities so far, (N, 1)
  at::Tensor ponder;  // scalar
  int64_t steps = 0;
  for (std::size_t i = 0; i < pass.layers && !(running.empty() && pass.skips_layers); ++i) {
    const bool skips = pass.skips_tokens && running.selection() != nullptr && !running.empty();
    auto outputs = layer(i, states, skips ? running.selection() : nullptr);
    if (running.empty()) {
      result = result + outputs * 0;  // computed for other ranks or the KV cache alone
      continue;
    }
    outputs = skips ? outputs : running.select(outputs);  // (M, D)
    const auto probability = probabilities(outputs, running.layout());
    if (!sums.defined()) {
      sums = at::zeros_like(probability);
    }
    const auto before = running.select(sums);
    const auto after = before + probability;
    const auto halts =
        i + 1 == pass.layers ? at::ones_like(after, at::kBool) : after.gt(1 - options_.epsilon);
    const auto remainder = 1 - before;
    const auto weights = at::where(halts, remainder, probability);
    const auto part = running.scatter(outputs * weights.to(outputs.scalar_type()));
    result = result.defined() ? result + part : part;
    const auto remainders =
        kernels::deterministic_sum(at::where(halts, remainder, at::zeros_like(remainder)));
    ponder = ponder.defined() ? ponder + remainders : remainders;
    steps += outputs.size(0);
    states = running.replace(states, outputs);
    sums = running.replace(sums, after);
    running.remove(halts);
  }
  if (context.auxiliary_losses != nullptr && ponder.defined()) {
    context.auxiliary_losses->add({.name = "ponder",
                                   .sum = ponder + static_cast<double>(steps),
                                   .weight = options_.loss_weight});
    context.auxiliary_losses->add(
        {.name = "halting_steps",
         .sum = at::full({}, static_cast<double>(steps), ponder.options().requires_grad(false)),
         .weight = 0});
  }
  return result.defined() ? result : x;
}

}  // namespace weft::nn
