#pragma once

#include <string>

#include <torch/nn/module.h>

namespace weft::nn {

/// The submodule with a dotted path (`layers.0.attention`), or nullptr.
torch::nn::Module* find_module(const torch::nn::Module& root, const std::string& path);

}  // namespace weft::nn
