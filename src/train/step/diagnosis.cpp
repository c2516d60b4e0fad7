#include "train/step/diagnosis.h"

#include <cmath>
#include <cstdint>
#include <exception>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/text.h"
#include "batching/hidden_states.h"
#include "batching/stage.h"
#include "models/weights/names.h"
#include "nn/activation_probe.h"

namespace weft::train {

namespace {

bool is_finite(const at::Tensor& x) { return x.isfinite().all().item<bool>(); }

/// Remembers the first part that gave something not finite.
class FirstBadPart : public nn::ActivationProbe {
 public:
  at::Tensor see(const std::string& part, const at::Tensor& x) override {
    is_used_ = true;
    if (part_.empty() && !is_finite(x)) {
      part_ = part;
    }
    return x;
  }
  const std::string& part() const { return part_; }
  bool is_used() const { return is_used_; }

 private:
  std::string part_;
  bool is_used_ = false;
};

/// Texts of a step by their places, of which a message shows the first few.
class Places {
 public:
  explicit Places(const data::Dataset& dataset) : dataset_(dataset) {}

  void add(int64_t epoch, int64_t item) {
    constexpr std::size_t kShown = 3;
    if (shown_.size() < kShown) {
      shown_.push_back(dataset_.place(epoch, item));
    }
    ++count_;
  }
  bool is_empty() const { return count_ == 0; }
  std::string words() const {
    const auto more = count_ - static_cast<int64_t>(shown_.size());
    return join(shown_, "; ") + (more > 0 ? text(" and ", more, " more") : "");
  }

 private:
  const data::Dataset& dataset_;
  std::vector<std::string> shown_;
  int64_t count_ = 0;
};

bool has_finite_loss(const objectives::Objective& objective,
                     models::Model& model,
                     const data::Batch& batch,
                     nn::Pass place) {
  place.layout = batching::stage(batch, model.device()).pass.layout;
  double sum = 0;
  for (const auto& loss : objective.losses(model, batch, place)) {
    sum += loss.sum().item<double>();
  }
  return std::isfinite(sum);
}

data::Batch single(const data::Dataset& dataset, int64_t epoch, int64_t item) {
  data::Batch batch;
  batch.add(item, dataset.example(epoch, item));
  return batch;
}

// Each text by itself, with the chance that it had within its batch.
void find_texts(const objectives::Objective& objective,
                models::Model& model,
                const data::Dataset& dataset,
                const data::Batch& batch,
                int64_t epoch,
                nn::Pass place,
                Places& found) {
  for (const auto item : batch.items) {
    const auto alone = single(dataset, epoch, item);
    if (!has_finite_loss(objective, model, alone, place)) {
      found.add(epoch, item);
    }
    batching::go_past(alone, place);
  }
}

std::string layer_words(const FirstBadPart& first, bool is_loss_bad) {
  if (!first.part().empty()) {
    return "in a second forward pass the activations of " + first.part() +
           " are the first that are not finite";
  }
  if (!is_loss_bad) {
    return "in a second forward pass all activations and the loss are finite: it broke in the "
           "backward pass";
  }
  return first.is_used() ? "in a second forward pass the activations of all layers are finite: it "
                           "broke in the head or the loss"
                         : "in a second forward pass the loss is not finite either";
}

}  // namespace

std::string first_bad_tensor(const Arena& arena,
                             const at::Tensor& gradient,
                             const models::ModelOptions& model) {
  std::string parameter;
  for (const auto& entry : arena.entries()) {  // in the order of the forward pass
    if (entry.is_trained && !is_finite(Arena::part(gradient, entry))) {
      parameter = entry.name;
    }
  }
  for (const auto& tensor : models::stored_tensors(model)) {
    if (tensor.parameter == parameter) {
      return tensor.name;
    }
  }
  return parameter;  // of an adapter, which the model's file does not hold
}

std::string where_it_broke(const objectives::Objective& objective,
                           models::Model& model,
                           const data::Dataset& dataset,
                           const data::StepBatches& batches,
                           const nn::Pass& place) {
  const at::NoGradGuard no_grad;
  const int64_t epoch = batches.begin.epoch;
  auto pass = place;
  pass.recomputes_layers = false;
  Places found(dataset);
  std::string words;
  bool is_loss_bad = false;
  try {
    FirstBadPart first;
    for (const auto& batch : batches.micro) {
      if (!has_finite_loss(objective, model, batch, pass)) {
        is_loss_bad = true;
        words = words.empty() ? layer_words(first, true) : words;
        find_texts(objective, model, dataset, batch, epoch, pass, found);
      }
      batching::go_past(batch, pass);
    }
    words = words.empty() ? layer_words(first, is_loss_bad) : words;
  } catch (const std::exception& error) {
    words = text("where it broke could not be found: ", error.what());  // too little memory, say
  }
  if (!found.is_empty()) {
    return text(words, "; the loss is not finite for ", found.words());
  }
  return text(words, "; ", texts_of(dataset, batches));
}

std::string texts_of(const data::Dataset& dataset, const data::StepBatches& batches) {
  Places places(dataset);
  for (const auto& batch : batches.micro) {
    for (const auto item : batch.items) {
      places.add(batches.begin.epoch, item);
    }
  }
  return "its texts are " + places.words();
}

}  // namespace weft::train
