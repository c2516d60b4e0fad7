#include "train/step/nonfinite_diagnosis.h"

#include <cmath>
#include <cstdint>
#include <exception>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "models/weights/weight_map.h"
#include "nn/activation_hook.h"

namespace weft::train {

namespace {

bool is_finite(const at::Tensor& x) { return x.isfinite().all().item<bool>(); }

/// Records the first module whose output is not finite.
class FirstNonFiniteModule : public nn::ActivationHook {
 public:
  at::Tensor on_activation(const std::string& module_name, const at::Tensor& x) override {
    is_used_ = true;
    if (module_name_.empty() && !is_finite(x)) {
      module_name_ = module_name;
    }
    return x;
  }
  const std::string& module_name() const { return module_name_; }
  bool is_used() const { return is_used_; }

 private:
  std::string module_name_;
  bool is_used_ = false;
};

/// Source locations of a step's texts; a message shows the first few.
class ShownTexts {
 public:
  explicit ShownTexts(const data::Dataset& dataset) : dataset_(dataset) {}

  void add(int64_t epoch, int64_t item) {
    constexpr std::size_t kShown = 3;
    if (shown_.size() < kShown) {
      shown_.push_back(dataset_.location(epoch, item));
    }
    ++count_;
  }
  bool is_empty() const { return count_ == 0; }
  std::string describe() const {
    const auto more = count_ - static_cast<int64_t>(shown_.size());
    return join(shown_, "; ") + (more > 0 ? str_cat(" and ", more, " more") : "");
  }

 private:
  const data::Dataset& dataset_;
  std::vector<std::string> shown_;
  int64_t count_ = 0;
};

bool has_finite_loss(const objectives::Objective& objective,
                     models::Model& model,
                     const data::Batch& batch,
                     nn::ForwardContext context) {
  batching::set_sequences(batch, model.device(), context);
  double sum = 0;
  for (const auto& loss : objective.losses(model, batch, context)) {
    sum += loss.sum().item<double>();
  }
  return std::isfinite(sum);
}

data::Batch single(const data::Dataset& dataset, int64_t epoch, int64_t item) {
  data::Batch batch;
  batch.add(item, dataset.example(epoch, item));
  return batch;
}

// Evaluates each text on its own, with the random keys that it had within its batch.
void find_texts(const objectives::Objective& objective,
                models::Model& model,
                const data::Dataset& dataset,
                const data::Batch& batch,
                int64_t epoch,
                nn::ForwardContext context,
                ShownTexts& found) {
  for (const auto item : batch.items) {
    const auto alone = single(dataset, epoch, item);
    if (!has_finite_loss(objective, model, alone, context)) {
      found.add(epoch, item);
    }
    batching::advance_offsets(alone, context);
  }
}

std::string describe_layer(const FirstNonFiniteModule& first, bool is_loss_nonfinite) {
  if (!first.module_name().empty()) {
    return "in a second forward pass the activations of " + first.module_name() +
           " are the first that are not finite";
  }
  if (!is_loss_nonfinite) {
    return "in a second forward pass all activations and the loss are finite: the problem is in "
           "the backward pass";
  }
  return first.is_used() ? "in a second forward pass the activations of all layers are finite: the "
                           "problem is in the head or the loss"
                         : "in a second forward pass the loss is not finite either";
}

}  // namespace

std::string first_nonfinite_gradient(const FlatParameters& flat_parameters,
                                     const at::Tensor& gradient,
                                     const models::ModelOptions& model,
                                     ProcessGroup& group) {
  const auto& entries = flat_parameters.entries();  // in the order of the forward pass
  std::size_t last = 0;                             // counted from 1
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const auto& part : flat_parameters.owned_parts(entries[i])) {
      if (entries[i].is_trained && !is_finite(gradient.narrow(0, part.begin, part.range.count))) {
        last = i + 1;
      }
    }
  }
  for (const auto& of_rank : group.gather(std::to_string(last))) {
    last = std::max<std::size_t>(last, std::stoull(of_rank));
  }
  const auto parameter = last == 0 ? std::string() : entries[last - 1].name;
  for (const auto& tensor : models::weight_map(model)) {
    if (tensor.parameter == parameter) {
      return tensor.name;
    }
  }
  return parameter;  // an adapter's, which is not in the model's file
}

std::string locate_nonfinite(const objectives::Objective& objective,
                             models::Model& model,
                             const data::Dataset& dataset,
                             const data::StepBatches& batches,
                             const nn::ForwardContext& given) {
  const at::NoGradGuard no_grad;
  const int64_t epoch = batches.begin.epoch;
  auto context = given;
  context.recomputes_layers = false;
  ShownTexts found(dataset);
  std::string words;
  bool is_loss_nonfinite = false;
  try {
    FirstNonFiniteModule first;
    for (const auto& batch : batches.micro_batches) {
      if (!has_finite_loss(objective, model, batch, context)) {
        is_loss_nonfinite = true;
        words = words.empty() ? describe_layer(first, true) : words;
        find_texts(objective, model, dataset, batch, epoch, context, found);
      }
      batching::advance_offsets(batch, context);
    }
    words = words.empty() ? describe_layer(first, is_loss_nonfinite) : words;
  } catch (const std::exception& error) {
    words = str_cat("could not locate the problem: ", error.what());  // e.g. too little memory
  }
  if (!found.is_empty()) {
    return str_cat(words, "; the loss is not finite for ", found.describe());
  }
  return str_cat(words, "; ", describe_texts(dataset, batches));
}

std::string describe_texts(const data::Dataset& dataset, const data::StepBatches& batches) {
  ShownTexts texts(dataset);
  for (const auto& batch : batches.micro_batches) {
    for (const auto item : batch.items) {
      texts.add(batches.begin.epoch, item);
    }
  }
  return "its texts are " + texts.describe();
}

}  // namespace weft::train
