#include "nn/activation_probe.h"

namespace weft::nn {

namespace {

thread_local ActivationProbe* newest = nullptr;

}  // namespace

ActivationProbe::ActivationProbe() : older_(newest) { newest = this; }

ActivationProbe::~ActivationProbe() { newest = older_; }

at::Tensor ActivationProbe::show(const std::string& part, const at::Tensor& x) {
  return see(part, older_ != nullptr ? older_->show(part, x) : x);
}

at::Tensor ActivationProbe::shown(const char* part, const at::Tensor& x) {
  return newest != nullptr ? newest->show(part, x) : x;
}

at::Tensor ActivationProbe::shown(std::size_t layer, const at::Tensor& x) {
  return newest != nullptr ? newest->show("layers." + std::to_string(layer), x) : x;
}

}  // namespace weft::nn
