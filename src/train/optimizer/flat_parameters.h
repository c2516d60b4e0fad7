#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "train/optimizer/optimizer_options.h"
#include "train/optimizer/shard_layout.h"

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
  std::optional<int> owner = std::nullopt;  // the rank that has it for itself
  std::string unit = {};  // of the layout: that of its names, empty if these are in several
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
/// multiple of kernels::kSumBlock.
struct ParameterSegment {
  int64_t begin = 0;
  int64_t count = 0;       // including alignment gaps
  int64_t parameters = 0;  // excluding them
  ParameterSettings settings = {};
  std::vector<SegmentParameter> members = {};  // in order
};

/// Part of a segment that this rank updates; the whole segment unless parameters are sharded.
struct SegmentSlice {
  std::size_t segment = 0;  // of FlatParameters::segments
  FlatRange own;            // in tensors of the owned elements
};

/// All parameters of a model in one flat order: first the trained ones, by group of the optimizer,
/// in each group those with weight decay first, then the frozen ones, all in layer order, each
/// parameter aligned to 64 bytes and each layer to kernels::kSumBlock. The module's parameters
/// become views of a buffer in this order. The gradients of the trained ones become views of a
/// second buffer, into which autograd accumulates. A parameter with requires_grad = false is
/// frozen: only its weights are stored. In bf16 the module computes on a bf16 copy of the fp32
/// master weights, otherwise on the master weights themselves.
///
/// If they are sharded, each rank has the master weights, the gradient and the optimizer state of
/// the elements that it owns only, and the module computes on a third buffer that
/// WeightExchange fills. With Sharding::kGradients GradientExchange allocates the gradients, with
/// Sharding::kAll the weights of a unit have memory only between `allocate` and `release`, and
/// those that another rank has for itself never.
class FlatParameters {
 public:
  /// The module must be on its device already and have run no backward pass. Which parameters are
  /// frozen is fixed here.
  FlatParameters(torch::nn::Module& module,
                 at::ScalarType compute_type,
                 const ParameterSettingsFunction& settings_of,
                 const ShardOptions& shard = {});
  /// All parameters in one group, at the same rate.
  FlatParameters(torch::nn::Module& module, at::ScalarType compute_type, DecayOn decay_on);

  const std::vector<ParameterEntry>& entries() const {
    return entries_;
  }  // in order of registration
  /// Segments of the trained part, in order.
  const std::vector<ParameterSegment>& segments() const { return segments_; }
  /// The parts of the segments that this rank updates, in order.
  const std::vector<SegmentSlice>& slices() const { return slices_; }
  const ShardLayout& layout() const { return layout_; }
  /// Whether the weights are fetched when they are used, so that a forward pass is a collective:
  /// all ranks must make the same ones.
  bool shards_weights() const {
    return layout_.is_sharded() && layout_.options().sharding == Sharding::kAll;
  }
  int64_t size() const { return size_; }
  int64_t trained_size() const { return trained_size_; }  // the trained part comes first
  /// Number of parameters, excluding alignment gaps.
  int64_t parameters() const;
  int64_t trained_parameters() const;

  /// Tensors of the owned elements, which are all elements unless the parameters are sharded.
  const at::Tensor& master() const { return master_; }    // fp32
  const at::Tensor& compute() const { return compute_; }  // bf16; undefined in fp32
  at::Tensor trained_master() const;                      // fp32, a view of the trained part
  /// Returns a zero-filled fp32 tensor of the owned trained elements, for moments or sums.
  at::Tensor zeros_like_trained() const;

  /// Gradient of all trained elements, of the compute type: (trained_size). Undefined if gradients
  /// are sharded.
  const at::Tensor& gradient() const { return gradient_; }
  /// What the module computes on: the elements of a range of `layout()`. Without memory after
  /// `release`.
  const at::Tensor& weights(std::size_t range) const { return weights_.at(range); }
  void allocate(const Unit& unit);
  void release(const Unit& unit);

  /// View of the entry's part of a flat tensor, in the parameter's shape. Frozen parameters exist
  /// only in the master and its copy.
  static at::Tensor parameter_view(const at::Tensor& flat, const ParameterEntry& entry);
  /// The parts of the entry that this rank owns; one unless parameters are sharded. `range` is
  /// counted from the entry's first element.
  std::vector<OwnedRange> owned_parts(const ParameterEntry& entry) const {
    return owned_parts(entry, layout_.options().rank);
  }
  std::vector<OwnedRange> owned_parts(const ParameterEntry& entry, int rank) const;
  /// Looks up a parameter by any name under which it is registered.
  const ParameterEntry& at(const std::string& name) const;

  /// Must be called after the master weights were changed from outside. Calls `on_refresh`.
  void refresh_compute_copy();
  void set_on_refresh(std::function<void()> on_refresh) { on_refresh_ = std::move(on_refresh); }

 private:
  void collect(torch::nn::Module& module,
               const ParameterSettingsFunction& settings_of,
               const ShardOptions& shard);
  void assign_offsets(const ShardOptions& shard);
  int64_t append_trained(std::size_t group, bool decays, int64_t begin);
  int64_t append_frozen(bool decays, int64_t begin);
  ShardLayout make_layout(const ShardOptions& shard) const;
  void add_slices();
  void bind(const UnitRange& range);
  void release(std::size_t range);

  std::vector<ParameterEntry> entries_;
  std::vector<ParameterSegment> segments_;
  std::vector<SegmentSlice> slices_;
  ShardLayout layout_;
  std::map<std::string, std::size_t> names_;
  int64_t size_ = 0, trained_size_ = 0;
  at::Tensor master_, compute_, gradient_;
  std::vector<at::Tensor> weights_;  // by range of the layout
  std::function<void()> on_refresh_;
};

}  // namespace weft::train
