#include "nn/shared_sublayer.h"

#include <algorithm>
#include <utility>

#include <c10/util/Exception.h>

namespace weft::nn {

namespace {

class SublayerOfOtherLayer : public Sublayer {
 public:
  SublayerOfOtherLayer(std::shared_ptr<Sublayer> sublayer, int64_t shift)
      : sublayer_(std::move(sublayer)), shift_(shift) {}

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    return sublayer_->forward(x, shifted(context, shift_));
  }
  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override {
    return sublayer_->forward_selected(x, shifted(context, shift_), selection);
  }
  bool mixes_tokens() const override { return sublayer_->mixes_tokens(); }
  bool must_run() const override { return sublayer_->must_run(); }
  std::optional<int64_t> output_dim() const override { return sublayer_->output_dim(); }
  ForwardContext context_after(const ForwardContext& context) const override {
    return sublayer_->context_after(context);
  }
  void gate_keys(const ComputationGateMaker& /*make*/) override {
    TORCH_CHECK(false, "shared sub-layers cannot have gates");
  }

 private:
  std::shared_ptr<Sublayer> sublayer_;  // registered in the block
  int64_t shift_;
};

}  // namespace

bool SharedSublayers::has(const SublayerDefinition& kind) const {
  return block != nullptr && std::ranges::find(kinds, kind.name) != kinds.end();
}

std::shared_ptr<Sublayer> SharedSublayers::at(const std::string& name) const {
  const auto children = block->named_children();
  const auto* const found = children.find(name);
  TORCH_CHECK(found != nullptr, "layer ", layer, " has no sub-layer ", name, " to share");
  return std::dynamic_pointer_cast<Sublayer>(*found);
}

std::shared_ptr<Sublayer> run_in_other_layer(std::shared_ptr<Sublayer> sublayer, int64_t shift) {
  return std::make_shared<SublayerOfOtherLayer>(std::move(sublayer), shift);
}

ForwardContext shifted(ForwardContext context, int64_t shift) {
  context.layer_shift += shift;
  return context;
}

}  // namespace weft::nn
