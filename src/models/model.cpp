#include "models/model.h"

#include "models/config/family.h"

namespace weft::models {

at::Device Model::device() const {
  const auto all = parameters();
  return all.empty() ? at::Device(at::kCPU) : all.front().device();
}

at::Tensor Model::encode(const SourceInput& /*source*/, const nn::ForwardContext& /*context*/) {
  TORCH_CHECK(false, architecture_of(options()), " is not an encoder-decoder");
}

at::Tensor Model::pooled(const at::Tensor& /*hidden*/, const nn::ForwardContext& /*context*/) {
  TORCH_CHECK(false, architecture_of(options()), " has no pooler");
}

at::Tensor Model::token_features(const at::Tensor& /*rows*/) {
  TORCH_CHECK(false, architecture_of(options()), " does not predict tokens");
}

at::Tensor Model::output_weight() {
  TORCH_CHECK(false, architecture_of(options()), " does not predict tokens");
}

at::Tensor Model::output_bias() {
  TORCH_CHECK(false, architecture_of(options()), " does not predict tokens");
}

at::Tensor Model::next_sentence_logits(const at::Tensor& /*pooled*/) {
  TORCH_CHECK(false, architecture_of(options()), " does not support next sentence prediction");
}

at::Tensor Model::class_logits(const at::Tensor& /*hidden*/,
                               const nn::ForwardContext& /*context*/) {
  TORCH_CHECK(false, architecture_of(options()), " does not classify sequences");
}

at::Tensor Model::token_logits(const at::Tensor& /*hidden*/,
                               const nn::ForwardContext& /*context*/) {
  TORCH_CHECK(false, architecture_of(options()), " does not classify tokens");
}

torch::nn::Module* find_module(const torch::nn::Module& root, const std::string& path) {
  const auto dot = path.find('.');
  const auto children = root.named_children();
  const auto* child = children.find(path.substr(0, dot));
  if (child == nullptr) {
    return nullptr;
  }
  return dot == std::string::npos ? child->get() : find_module(**child, path.substr(dot + 1));
}

}  // namespace weft::models
