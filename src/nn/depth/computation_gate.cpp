#include "nn/depth/computation_gate.h"

#include <algorithm>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/random.h"
#include "base/string_util.h"
#include "kernels/embedding.h"
#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/auxiliary_losses.h"
#include "nn/pooling/pooling.h"
#include "nn/row_selection.h"
#include "nn/sublayer.h"

namespace weft::nn {

namespace {

/// Of the budgets that sequences draw, the same for all gates of a pass.
constexpr uint32_t kBudgetSite = 0x7FFFFFFF;

/// Rows of `context` with these increasing indices.
RowSelection rows_at(const std::vector<int64_t>& rows, const ForwardContext& context) {
  return RowSelection::from_rows(rows, context, context.first_row);
}

/// x W^T + b of rows that are 0.
at::Tensor closed_rows(const at::Tensor& bias, const at::Tensor& like, int64_t rows) {
  return bias.defined() ? kernels::repeat_row(bias.to(like.scalar_type()), rows)
                        : at::zeros({rows, like.size(1)}, like.options());
}

/// Those of `selection` that are open in a selection of its rows.
RowSelection opened(const RowSelection& selection, const RowSelection& open) {
  return {.index = selection.index.index_select(0, open.index),
          .layout = open.layout,
          .first_row = open.first_row};
}

}  // namespace

ComputationGateImpl::ComputationGateImpl(int64_t dim,
                                         const ComputationGateOptions& options,
                                         uint32_t site)
    : options_(options), site_(site) {
  set_budget(options.budget);
  hidden_weight_ = register_parameter("hidden_weight", at::empty({options.hidden, dim}));
  hidden_bias_ = register_parameter("hidden_bias", at::empty({options.hidden}));
  if (options.budgets.size() > 1) {
    const auto count = static_cast<int64_t>(options.budgets.size());
    budgets_ = register_parameter("budgets", at::empty({count, options.hidden}));
  }
  output_weight_ = register_parameter("output_weight", at::empty({1, options.hidden}));
  output_bias_ = register_parameter("output_bias", at::empty({1}));
}

void ComputationGateImpl::set_budget(double budget) {
  const auto found = std::ranges::find(options_.budgets, budget);
  if (found == options_.budgets.end()) {
    std::vector<std::string> allowed;
    for (const auto each : options_.budgets) {
      allowed.push_back(str_cat(each));
    }
    throw UserError(
        str_cat("budget: found ", budget, ", the model has the budgets ", join(allowed)));
  }
  budget_ = static_cast<std::size_t>(found - options_.budgets.begin());
}

std::vector<std::size_t> ComputationGateImpl::budgets_of(const ForwardContext& context) const {
  std::vector<std::size_t> budgets(static_cast<std::size_t>(context.layout.sequences()), budget_);
  if (context.is_training && options_.budgets.size() > 1) {
    auto sequence = static_cast<uint64_t>(context.first_sequence);
    for (auto& budget : budgets) {
      Random random(hash_combine(context.seed, kBudgetSite), RandomPurpose::kFeatures, context.step,
                    sequence++);
      budget = random.uniform_int(options_.budgets.size());
    }
  }
  return budgets;
}

at::Tensor ComputationGateImpl::logits(const at::Tensor& x,
                                       const std::vector<std::size_t>& budgets,
                                       const ForwardContext& context) const {
  auto hidden = kernels::linear(x, hidden_weight_, hidden_bias_);
  if (budgets_.defined()) {
    const std::vector<int64_t> rows(budgets.begin(), budgets.end());
    const auto index = kernels::to_device(rows, x.device())
                           .repeat_interleave(context.layout.device_lengths(), 0, x.size(0));
    hidden = hidden + kernels::gather_rows(budgets_, index);
  }
  const auto result = kernels::linear(hidden.relu(), output_weight_, output_bias_);
  return result.to(kernels::accumulate_type(result));
}

at::Tensor ComputationGateImpl::noise(const at::Tensor& logits,
                                      const ForwardContext& context) const {
  const auto warmup = static_cast<double>(std::max<int64_t>(1, options_.warmup));
  const auto deviation = options_.noise * std::min(1.0, static_cast<double>(context.step) / warmup);
  const auto key = context.rng_key(site_);
  auto values = at::empty({logits.size(0), 1}, at::kFloat);
  auto* const value = values.data_ptr<float>();
  for (int64_t i = 0; i < values.size(0); ++i) {
    Random random(hash_combine(key.seed, key.site), RandomPurpose::kFeatures, key.step,
                  static_cast<uint64_t>(key.first_row + i));
    value[i] = static_cast<float>(deviation * random.normal());
  }
  return kernels::to_device(values, logits.device()).to(logits.scalar_type());
}

ComputationGateImpl::Gates ComputationGateImpl::forward(const at::Tensor& x,
                                                        const ForwardContext& context) const {
  const auto budgets = budgets_of(context);
  const auto scores = logits(x, budgets, context);
  Gates gates;
  at::Tensor factors;
  if (context.is_training) {
    factors = (options_.noise > 0 ? scores + noise(scores, context) : scores).sigmoid();
  } else {
    const auto is_open = scores.ge(0);
    factors = is_open.to(scores.scalar_type());
    const auto host = is_open.cpu().contiguous();
    const auto* const open = host.const_data_ptr<bool>();
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < host.size(0); ++i) {
      if (open[i]) {
        rows.push_back(i);
      }
    }
    gates.open = rows_at(rows, context);
  }
  if (context.auxiliary_losses != nullptr) {
    std::vector<float> targets;
    targets.reserve(budgets.size());
    for (const auto budget : budgets) {
      targets.push_back(static_cast<float>(options_.budgets[budget]));
    }
    context.auxiliary_losses->add(
        {.name = "gate",
         .sum = segment_sum(factors, context.layout).flatten().to(at::kFloat),
         .unit = LossUnit::kSequences,
         .weight = options_.loss,
         .share = SequenceShare{.counts = context.layout.device_lengths().to(at::kFloat),
                                .targets = kernels::to_device(targets, x.device())}});
  }
  gates.factors = factors.to(x.scalar_type());
  return gates;
}

at::Tensor gated_forward(const ComputationGateImpl& gate,
                         Sublayer& sublayer,
                         const at::Tensor& x,
                         const ForwardContext& context,
                         const RowSelection* selection,
                         const std::function<at::Tensor(const at::Tensor&)>& finish) {
  const auto gates = selection == nullptr
                         ? gate.forward(x, context)
                         : gate.forward(selection->select(x), selection->select(context));
  if (!gates.open || gates.are_all_open()) {
    const auto all =
        finish(selection == nullptr ? sublayer.forward(x, context)
                                    : sublayer.forward_selected(x, context, *selection));
    return gates.open ? all : all * gates.factors;
  }
  const auto count = gates.factors.size(0);
  const bool is_empty = gates.open->index.size(0) == 0;
  if (is_empty && !sublayer.mixes_tokens() && !sublayer.must_run()) {
    return at::zeros({count, x.size(1)}, x.options());
  }
  const auto rows = selection == nullptr ? *gates.open : opened(*selection, *gates.open);
  // Also without open rows: others may read keys and states of these.
  const auto computed = sublayer.forward_selected(x, context, rows);
  return is_empty ? at::zeros({count, x.size(1)}, x.options())
                  : scatter_distinct_rows(finish(computed), gates.open->index, count);
}

at::Tensor gated_rows(const ComputationGateImpl::Gates& gates,
                      const at::Tensor& outputs,
                      const at::Tensor& bias) {
  return at::lerp(closed_rows(bias, outputs, outputs.size(0)), outputs,
                  gates.factors.to(outputs.scalar_type()));
}

at::Tensor gated_product(const ComputationGateImpl::Gates& gates,
                         const at::Tensor& x,
                         const at::Tensor& bias,
                         const std::function<at::Tensor(const at::Tensor&)>& product) {
  if (gates.are_all_open()) {
    return product(x);
  }
  if (!gates.open) {
    return gated_rows(gates, product(x), bias);
  }
  if (gates.open->index.size(0) == 0) {
    return closed_rows(bias, product(x.narrow(0, 0, 1)), x.size(0));
  }
  const auto computed = product(select_distinct_rows(x, gates.open->index));
  return closed_rows(bias, computed, x.size(0)).index_copy(0, gates.open->index, computed);
}

void set_computation_budget(torch::nn::Module& model, double budget) {
  bool has_gates = false;
  for (const auto& module : model.modules()) {
    if (auto* const gate = dynamic_cast<ComputationGateImpl*>(module.get())) {
      gate->set_budget(budget);
      has_gates = true;
    }
  }
  if (!has_gates) {
    throw UserError(str_cat("budget: found ", budget,
                            ", but the model was trained without model.residual.gate"));
  }
}

}  // namespace weft::nn
