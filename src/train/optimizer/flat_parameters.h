#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "train/optimizer/optimizer_options.h"

namespace weft::train {

/// How one parameter is updated.
struct ParameterSettings {
  std::size_t group = 0;         // of the optimizer: 0 for train.optimizer, i + 1 for its groups[i]
  bool decays = false;           // whether weight decay applies
  double lr_scale = 1;           // multiplies the learning rate
  bool has_own_segment = false;  // shared with no other parameter

  bool operator==(const ParameterSettings&) const = default;
};

/// Settings of a parameter, by its name and tensor.
using ParameterSettingsFunction =
    std::function<ParameterSettings(const std::string& name, const at::Tensor& parameter)>;

/// One parameter and its position in the flat parameter buffer.
struct ParameterEntry {
  std::string name;  // as registered; for a tied weight, the first name
  at::Tensor parameter;
  int64_t begin = 0;  // in elements
  int64_t count = 0;
  bool is_trained = true;  // false: frozen
  ParameterSettings settings = {};
};

/// A parameter of a segment.
struct SegmentParameter {
  std::string name;
  int64_t begin = 0;  // in elements, from the beginning of the segment
  int64_t count = 0;
  std::vector<int64_t> shape = {};

  /// View of the parameter in a 1-D tensor of the segment, in the parameter's shape.
  at::Tensor view(const at::Tensor& segment_tensor) const;
};

/// Contiguous part of the trained parameters that are updated with the same settings. Begins at a
/// multiple of kernels::kUpdateBlock.
struct ParameterSegment {
  int64_t begin = 0;
  int64_t count = 0;       // including alignment gaps
  int64_t parameters = 0;  // excluding them
  ParameterSettings settings = {};
  std::vector<SegmentParameter> members = {};  // in order
};

/// All parameters of a model in one flat buffer: first the trained ones, by group of the optimizer,
/// in each group those with weight decay first, then the frozen ones, all in layer order, each
/// parameter aligned to 64 bytes. The module's parameters become views of it. The gradients of the
/// trained ones become views of a second buffer, into which autograd accumulates. A parameter with
/// requires_grad = false is frozen: only its weights are stored. In bf16 the module computes on a
/// bf16 copy of the fp32 master weights, otherwise on the master weights themselves.
class FlatParameters {
 public:
  /// The module must be on its device already and have run no backward pass. Which parameters are
  /// frozen is fixed here.
  FlatParameters(torch::nn::Module& module,
                 at::ScalarType compute_type,
                 const ParameterSettingsFunction& settings_of);
  /// All parameters in one group, at the same rate.
  FlatParameters(torch::nn::Module& module, at::ScalarType compute_type, DecayOn decay_on);

  const std::vector<ParameterEntry>& entries() const {
    return entries_;
  }  // in order of registration
  /// Segments of the trained part, in order.
  const std::vector<ParameterSegment>& segments() const { return segments_; }
  int64_t size() const { return master_.numel(); }
  int64_t trained_size() const { return gradient_.numel(); }  // the trained part comes first
  /// Number of parameters, excluding alignment gaps.
  int64_t parameters() const;
  int64_t trained_parameters() const;

  const at::Tensor& master() const { return master_; }      // (size) fp32
  const at::Tensor& compute() const { return compute_; }    // (size) bf16; undefined in fp32
  const at::Tensor& gradient() const { return gradient_; }  // (trained_size) of the compute type
  at::Tensor trained_master() const;                        // (trained_size) fp32, a view
  /// Returns a zero-filled fp32 tensor of trained_size(), for moments or sums.
  at::Tensor zeros_like_trained() const;

  /// View of the entry's part of a flat tensor, in the parameter's shape. Frozen parameters exist
  /// only in the master and its copy.
  static at::Tensor parameter_view(const at::Tensor& flat, const ParameterEntry& entry);
  /// Looks up a parameter by any name under which it is registered.
  const ParameterEntry& at(const std::string& name) const;

  /// Must be called after the master weights were changed from outside.
  void refresh_compute_copy();

 private:
  void collect(torch::nn::Module& module, const ParameterSettingsFunction& settings_of);
  int64_t assign_offsets();
  int64_t append_trained(std::size_t group, bool decays, int64_t begin);
  int64_t append_frozen(bool decays, int64_t begin);
  void bind();

  std::vector<ParameterEntry> entries_;
  std::vector<ParameterSegment> segments_;
  std::map<std::string, std::size_t> names_;
  at::Tensor master_, compute_, gradient_;
};

}  // namespace weft::train
