#include "nn/module.h"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

namespace weft::nn {

namespace {

void check_name(const std::string& name) {
  TORCH_CHECK(!name.empty() && name.find('.') == std::string::npos, "Module: '", name,
              "' is no name of a part");
}

}  // namespace

torch::OrderedDict<std::string, at::Tensor> Module::named_parameters() const {
  torch::OrderedDict<std::string, at::Tensor> found("Parameter");
  collect("", found);
  return found;
}

void Module::collect(const std::string& prefix,
                     torch::OrderedDict<std::string, at::Tensor>& found) const {
  for (const auto& item : parameters_) {
    found.insert(prefix + item.key(), item.value());
  }
  for (const auto& item : children_) {
    item.value()->collect(prefix + item.key() + ".", found);
  }
}

Module* Module::find(const std::string& path) const {
  const auto dot = path.find('.');
  const auto* child = children_.find(path.substr(0, dot));
  if (child == nullptr) {
    return nullptr;
  }
  return dot == std::string::npos ? child->get() : (*child)->find(path.substr(dot + 1));
}

at::Device Module::device() const {
  const auto parameters = named_parameters();
  return parameters.is_empty() ? at::Device(at::kCPU) : parameters.front().value().device();
}

void Module::to(at::Device device) {
  for (auto& item : named_parameters()) {
    item.value().set_data(item.value().detach().to(device));
  }
}

void Module::to(at::ScalarType type) {
  for (auto& item : named_parameters()) {
    item.value().set_data(item.value().detach().to(type));
  }
}

at::Tensor& Module::register_parameter(const std::string& name,
                                       at::Tensor parameter,
                                       bool requires_grad) {
  check_name(name);
  parameter.set_requires_grad(requires_grad);
  return parameters_.insert(name, std::move(parameter));
}

void Module::add_child(const std::string& name, std::shared_ptr<Module> part) {
  check_name(name);
  children_.insert(name, std::move(part));
}

}  // namespace weft::nn
