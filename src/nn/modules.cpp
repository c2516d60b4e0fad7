#include "nn/modules.h"

namespace weft::nn {

torch::nn::Module* find_module(const torch::nn::Module& root, const std::string& path) {
  const auto dot = path.find('.');
  const auto children = root.named_children();
  const auto* child = children.find(path.substr(0, dot));
  if (child == nullptr) {
    return nullptr;
  }
  return dot == std::string::npos ? child->get() : find_module(**child, path.substr(dot + 1));
}

}  // namespace weft::nn
