#include "train/cost/cost.h"

#include <algorithm>
#include <map>
#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/machine.h"
#include "base/string_util.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "train/optimizer/ema_weights.h"
#include "train/optimizer/parameter_groups.h"
#include "train/step/out_of_memory.h"
#include "train/step/run_components.h"

namespace weft::train {

namespace {

constexpr double kMaxFlops = 5e10;  // of one measured micro-batch: about a second on a few cores

/// A module with the parameters of another as meta tensors: these have a shape, but no memory.
class ParameterShapes : public torch::nn::Module {
 public:
  explicit ParameterShapes(const torch::nn::Module& module) {
    std::map<const void*, at::Tensor> shapes;  // a tied weight has two names
    for (const auto& item : module.named_parameters()) {
      const auto& parameter = item.value();
      auto& shape = shapes[parameter.unsafeGetTensorImpl()];
      if (!shape.defined()) {
        shape = at::empty(parameter.sizes(), parameter.options().device(at::kMeta));
      }
      torch::nn::Module* owner = this;
      auto names = split(item.key(), '.');
      for (; names.size() > 1; names.erase(names.begin())) {
        owner = &child_of(*owner, std::string(names.front()));
      }
      owner->register_parameter(std::string(names.front()), shape, parameter.requires_grad());
    }
  }

 private:
  static torch::nn::Module& child_of(torch::nn::Module& module, const std::string& name) {
    const auto children = module.named_children();
    const auto* const child = children.find(name);
    return child != nullptr ? **child
                            : *module.register_module(name, std::make_shared<torch::nn::Module>());
  }
};

/// Flat parameters and optimizer of a model without memory, for their sizes.
struct StateShapes {
  StateShapes(models::Model& model, const OptimizerOptions& options, at::ScalarType precision)
      : shapes(model),
        flat_parameters(shapes, precision, parameter_settings(options, model)),
        optimizer(options, flat_parameters) {}

  ParameterShapes shapes;
  FlatParameters flat_parameters;
  Optimizer optimizer;
};

/// Gradients of bf16 micro-batches are summed in fp32.
bool sums_gradients(const TrainOptions& train, at::ScalarType precision) {
  return precision != at::kFloat && train.micro_batch_tokens &&
         (!train.batch_tokens || *train.micro_batch_tokens < *train.batch_tokens);
}

/// A teacher has weights in the precision of the run, and nothing else.
double teacher_bytes(const RunConfig& config, at::ScalarType precision) {
  const auto options = config.objective->teacher_options(config.model);
  double parameters = 0;
  if (options) {
    for (const auto& parameter : models::make_uninitialized_model(*options)->parameters()) {
      parameters += static_cast<double>(parameter.numel());
    }
  }
  return parameters * static_cast<double>(c10::elementSize(precision));
}

void add_state(const RunConfig& config,
               const models::Model& model,
               StateShapes& state,
               at::ScalarType precision,
               Cost& cost) {
  auto& flat = state.flat_parameters;
  cost.parameters = flat.parameters();
  cost.trained_parameters = flat.trained_parameters();
  cost.copy_bytes = bytes_of(flat.compute());
  cost.weight_bytes = bytes_of(flat.master()) + cost.copy_bytes;
  cost.gradient_bytes =
      bytes_of(flat.gradient()) +
      (sums_gradients(config.train, precision) ? bytes_of(flat.zeros_like_trained()) : 0);
  for (const auto& [name, moment] : state.optimizer.moments()) {
    cost.optimizer_bytes += bytes_of(moment);
  }
  if (config.train.ema.decay) {
    cost.ema_bytes = bytes_of(EmaWeights(config.train.ema, flat).values());
  }
  cost.rank_plan_sizes = rank_plan_sizes(flat, state.optimizer, config.train);
  cost.expert_plan_sizes = expert_plan_sizes(model, flat, config.train);
  cost.teacher_bytes = teacher_bytes(config, precision);
  if (config.train.saves_async) {
    cost.save_bytes = bytes_of(flat.master()) + cost.optimizer_bytes + cost.ema_bytes;
  }
}

}  // namespace

double bytes_of(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<double>(tensor.nbytes()) : 0;
}

Cost cost_of(const RunConfig& config, int64_t length, c10::ScalarType precision) {
  const auto model = make_untrained_model(config);
  StateShapes state(*model, config.train.optimizer, precision);
  Cost cost;
  add_state(config, *model, state, precision, cost);
  if (models::capabilities_of(config.model.family).is_counted) {
    cost.why_not_measured = "the model is estimated in one pass, without training steps";
    return cost;
  }
  // While the flat parameters are made, the weights exist twice.
  const double master = cost.weight_bytes - cost.copy_bytes;
  const double weights = master + cost.weight_bytes + cost.gradient_bytes + cost.teacher_bytes;
  const auto free = static_cast<double>(available_memory());
  if (weights >= free) {
    cost.why_not_measured = str_cat("the weights need ", format_bytes(weights),
                                    " of memory, but only ", format_bytes(free), " are free");
    return cost;
  }
  try {
    StepProbe probe(config, *model, state.optimizer,
                    {.length = length,
                     .precision = precision,
                     .max_activation_bytes = static_cast<int64_t>(free - weights)});
    cost.step = measure_step(probe, config.train, kMaxFlops);
  } catch (const MicroBatchOutOfMemory& shortage) {
    cost.why_not_measured = shortage.what();
  } catch (const UserError& error) {
    cost.why_not_measured = error.what();
  }
  return cost;
}

}  // namespace weft::train
