#include "nn/activation_hook.h"

namespace weft::nn {

namespace {

thread_local ActivationHook* current = nullptr;

}  // namespace

ActivationHook::ActivationHook() : previous_(current) { current = this; }

ActivationHook::~ActivationHook() { current = previous_; }

at::Tensor ActivationHook::run_chain(const std::string& module_name, const at::Tensor& x) {
  return on_activation(module_name,
                       previous_ != nullptr ? previous_->run_chain(module_name, x) : x);
}

at::Tensor ActivationHook::run_hooks(const char* module_name, const at::Tensor& x) {
  return current != nullptr ? current->run_chain(module_name, x) : x;
}

at::Tensor ActivationHook::run_hooks(std::size_t layer, const at::Tensor& x) {
  return current != nullptr ? current->run_chain("layers." + std::to_string(layer), x) : x;
}

}  // namespace weft::nn
