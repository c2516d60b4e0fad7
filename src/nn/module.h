#pragma once

#include <memory>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

namespace weft::nn {

/// A part of a model: its parameters and the parts below it, by name, in the order in which they
/// were registered. LibTorch's own class has the same functions; its header takes two seconds of
/// every file that sees a model, for cloning, hooks and pickling, which nothing here does.
class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  /// Every parameter here and below, own ones first, as `child.child.name`. A tied one stands under
  /// each of its names.
  torch::OrderedDict<std::string, at::Tensor> named_parameters() const;
  const torch::OrderedDict<std::string, std::shared_ptr<Module>>& children() const {
    return children_;
  }
  /// The part of that path (`layers.0.attention`), or nullptr.
  Module* find(const std::string& path) const;

  /// Where the parameters lie; without any, the CPU.
  at::Device device() const;
  /// Moves the parameters: they stay the same tensors, with other storage.
  void to(at::Device device);
  /// Brings them to a number format, the same way.
  void to(at::ScalarType type);

  /// A leaf that requires a gradient or not. Names hold no dot and are given once: throws
  /// c10::Error.
  at::Tensor& register_parameter(const std::string& name,
                                 at::Tensor parameter,
                                 bool requires_grad = true);

 protected:
  template <typename Part>
  std::shared_ptr<Part> register_module(const std::string& name, std::shared_ptr<Part> part) {
    add_child(name, part);
    return part;
  }
  /// Makes a part and registers it.
  template <typename Part, typename... Arguments>
  std::shared_ptr<Part> make_part(const std::string& name, Arguments&&... arguments) {
    return register_module(name, std::make_shared<Part>(std::forward<Arguments>(arguments)...));
  }

 private:
  void add_child(const std::string& name, std::shared_ptr<Module> part);
  void collect(const std::string& prefix, torch::OrderedDict<std::string, at::Tensor>& found) const;

  torch::OrderedDict<std::string, at::Tensor> parameters_{"Parameter"};
  torch::OrderedDict<std::string, std::shared_ptr<Module>> children_{"Module"};
};

}  // namespace weft::nn
