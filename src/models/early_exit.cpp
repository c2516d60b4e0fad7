#include "models/early_exit.h"

#include <numeric>
#include <string>
#include <utility>

#include <ATen/Functions.h>

#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "nn/depth/sequence_selection.h"

namespace weft::models {

namespace {

nn::OutputKind output_kind_of(const ModelOptions& options) {
  return options.is_regression    ? nn::OutputKind::kNumbers
         : options.is_multi_label ? nn::OutputKind::kLabels
                                  : nn::OutputKind::kClasses;
}

/// The sequences that are still in the batch, and what they have led to so far.
class ActiveSequences {
 public:
  ActiveSequences(const nn::ExitRule& rule, int64_t count)
      : rule_(rule), sequences_(static_cast<std::size_t>(count)), memories_(sequences_.size()) {
    std::iota(sequences_.begin(), sequences_.end(), 0);
  }

  const std::vector<int64_t>& sequences() const { return sequences_; }  // indices in the batch

  struct Decision {
    std::vector<int64_t> leaving;  // indices among the active ones
    std::vector<int64_t> staying;
  };
  /// `logits`: (active, C). All leave after the last layer.
  Decision decide(const at::Tensor& logits, bool is_last) {
    const auto host = logits.to(at::kFloat).cpu().contiguous();
    const auto width = static_cast<std::size_t>(host.size(1));
    const auto* row = host.const_data_ptr<float>();
    Decision decision;
    for (std::size_t i = 0; i < sequences_.size(); ++i, row += width) {
      const bool leaves = is_last || rule_.exits({row, row + width}, memories_[i]);
      (leaves ? decision.leaving : decision.staying).push_back(static_cast<int64_t>(i));
    }
    return decision;
  }

  void keep(const std::vector<int64_t>& staying) {
    std::vector<int64_t> sequences;
    std::vector<nn::ExitMemory> memories;
    for (const auto i : staying) {
      sequences.push_back(sequences_[static_cast<std::size_t>(i)]);
      memories.push_back(std::move(memories_[static_cast<std::size_t>(i)]));
    }
    sequences_ = std::move(sequences);
    memories_ = std::move(memories);
  }

 private:
  const nn::ExitRule& rule_;
  std::vector<int64_t> sequences_;
  std::vector<nn::ExitMemory> memories_;
};

}  // namespace

EarlyExitsImpl::EarlyExitsImpl(const ModelOptions& options)
    : options_(options),
      rule_(options.early_exit->rule.make({.outputs = output_kind_of(options)})) {
  const bool has_own_pooler =
      has_pooler(options) && capabilities_of(options.family).classifier_uses_pooler;
  for (int64_t layer = 0; layer + 1 < options.layers; ++layer) {
    const auto prefix = std::to_string(layer);
    Exit exit;
    if (has_own_pooler) {
      exit.pooler = register_module(prefix + "_pooler", nn::Pooler(options.dim));
    }
    exit.head = register_module(prefix + "_head", ClassificationHead(options));
    exits_.push_back(std::move(exit));
  }
}

at::Tensor EarlyExitsImpl::logits(std::size_t layer,
                                  const ExitPath& path,
                                  const at::Tensor& hidden,
                                  const nn::ForwardContext& context) {
  const auto rows = path.rows(hidden, context);
  if (layer == exits_.size()) {
    return path.classify(rows, context);
  }
  auto own = context;
  own.layer_shift = nn::kExitSites + static_cast<int64_t>(layer);
  return classify_rows(options_, exits_[layer].pooler, exits_[layer].head, rows, own);
}

std::vector<WeightedLogits> EarlyExitsImpl::all_logits(const ExitPath& path,
                                                       const at::Tensor& x,
                                                       const nn::ForwardContext& context) {
  const auto shared = path.stack.with_shared_scores(context, x.device());
  const auto layers = exits_.size() + 1;
  std::vector<WeightedLogits> result;
  auto hidden = x;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    hidden = path.stack.forward_layer(layer, hidden, shared);
    // PABEE, equation 6: the weights grow with the depth.
    const auto weight =
        options_.early_exit->weights_by_depth
            ? 2 * static_cast<double>(layer + 1) / static_cast<double>(layers * (layers + 1))
            : 1 / static_cast<double>(layers);
    result.push_back({logits(layer, path, hidden, context), weight});
  }
  return result;
}

at::Tensor EarlyExitsImpl::classify(const ExitPath& path,
                                    const at::Tensor& x,
                                    const nn::ForwardContext& context) {
  ActiveSequences active(*rule_, context.layout.sequences());
  std::vector<int64_t> layers(active.sequences().size());
  at::Tensor result;
  auto hidden = x;
  auto shared = path.stack.with_shared_scores(context, x.device());
  for (std::size_t layer = 0; !active.sequences().empty(); ++layer) {
    hidden = path.stack.forward_layer(layer, hidden, shared);
    const auto outputs = logits(layer, path, hidden, shared);
    if (!result.defined()) {
      result = at::empty({context.layout.sequences(), outputs.size(1)}, outputs.options());
    }
    const auto decision = active.decide(outputs, layer == exits_.size());
    if (decision.leaving.empty()) {
      continue;
    }
    std::vector<int64_t> leaving;
    for (const auto i : decision.leaving) {
      leaving.push_back(active.sequences()[static_cast<std::size_t>(i)]);
      layers[static_cast<std::size_t>(leaving.back())] = static_cast<int64_t>(layer) + 1;
    }
    result.index_copy_(0, kernels::to_device(leaving, x.device()),
                       outputs.index_select(0, kernels::to_device(decision.leaving, x.device())));
    const auto staying = nn::SequenceSelection::of(decision.staying, shared);
    hidden = staying.select(hidden);
    shared = staying.context;
    active.keep(decision.staying);
  }
  if (context.exit_layers != nullptr) {
    *context.exit_layers = std::move(layers);
  }
  return result.defined() ? result : at::empty({0, head_outputs(options_)}, x.options());
}

}  // namespace weft::models
