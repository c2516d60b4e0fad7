#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/activation.h"
#include "kernels/sum.h"
#include "nn/attention/memory/slot_memory.h"
#include "nn/feed_forward/feed_forward.h"
#include "nn/recurrent/cell.h"

namespace weft::nn {

namespace {

/// Vectors of length one.
at::Tensor normalized_slots(const at::Tensor& slots) {
  constexpr double kSmallest = 1e-12;
  return slots / at::linalg_vector_norm(slots, 2, {-1}, /*keepdim=*/true).clamp_min(kSmallest);
}

/// A residual connection, and forgetting by biased memory normalization: the bias pulls a slot back
/// to where it began (arXiv:2010.06891).
class NormalizedUpdate : public SlotUpdate {
 public:
  explicit NormalizedUpdate(const SlotUpdateOptions& options) {
    bias_ = register_parameter("bias", at::zeros({options.slots, options.dim()}));
  }
  at::Tensor initial() const override { return normalized_slots(bias()); }
  at::Tensor forward(const at::Tensor& memory,
                     const at::Tensor& read,
                     const ForwardContext& /*context*/) override {
    return normalized_slots(memory + read.view(memory.sizes()).to(memory.scalar_type()) + bias());
  }

 private:
  at::Tensor bias() const { return bias_.to(kernels::accumulate_type(bias_)); }

  at::Tensor bias_;  // (k, D)
};

/// A GRU, and a feed-forward sub-layer with its norm in front, as in lucidrains/memformer.
class GruUpdate : public SlotUpdate {
 public:
  explicit GruUpdate(const SlotUpdateOptions& options) {
    constexpr int64_t kWidening = 4;
    const auto dim = options.dim();
    initial_ = register_parameter("initial", at::zeros({options.slots, dim}));
    cell_ = register_module(
        "cell", default_component(recurrent_cells(), "gru").make({.dim = dim, .width = dim}));
    norm_ = register_module("norm", make_norm(options.norm));
    feed_forward_ = register_module(
        "feed_forward",
        make_standard_feed_forward(
            {.dim = dim, .width = kWidening * dim, .activation = kernels::Activation::kGelu}));
  }
  at::Tensor initial() const override { return initial_.to(kernels::accumulate_type(initial_)); }
  at::Tensor forward(const at::Tensor& memory,
                     const at::Tensor& read,
                     const ForwardContext& context) override {
    const auto before = memory.flatten(0, 1).to(read.scalar_type());  // (B k, D)
    const auto after = cell_->next(read, {.state = before, .cell_state = {}}, context).state;
    const auto slots = after + feed_forward_->forward(norm_->forward(after), context);
    return slots.view(memory.sizes()).to(memory.scalar_type());
  }

 private:
  at::Tensor initial_;  // (k, D)
  std::shared_ptr<RecurrentCell> cell_;
  std::shared_ptr<Norm> norm_;
  std::shared_ptr<FeedForward> feed_forward_;
};

template <class Update>
std::shared_ptr<SlotUpdate> make_slot_update(const SlotUpdateOptions& options) {
  return std::make_shared<Update>(options);
}

}  // namespace

const Registry<SlotUpdateDefinition>& slot_updates() {
  static const Registry<SlotUpdateDefinition> kRegistry(
      "memory update", {{"attention_norm", make_slot_update<NormalizedUpdate>},
                        {"gru", make_slot_update<GruUpdate>}});
  return kRegistry;
}

}  // namespace weft::nn
