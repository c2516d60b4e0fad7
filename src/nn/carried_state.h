#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

namespace weft::nn {

/// State that layers carry from one step to the next, per stream: a text that is too long for one
/// sequence and continues in later steps (recurrent state, the memory of Transformer-XL).
/// Transactional: values set during a step become visible with commit(). A step that is computed
/// again, skipped or rolled back leaves the state as it was.
class CarriedState {
 public:
  /// What layer `name` stored for the stream in an earlier step; undefined at its beginning.
  at::Tensor get(int64_t stream, const std::string& name) const;
  /// Stores a value for the next step, detached from its graph.
  void set(int64_t stream, const std::string& name, const at::Tensor& value);

  /// Makes the values of the step visible, and those alone: a stream without new values has ended.
  /// Or drops them.
  void commit();
  void discard();

  bool empty() const { return committed_.empty(); }
  /// The committed values by `STREAM/NAME`, for a checkpoint; load() restores them.
  std::map<std::string, at::Tensor> tensors() const;
  void load(const std::map<std::string, at::Tensor>& tensors, const at::Device& device);

 private:
  using Key = std::pair<int64_t, std::string>;
  std::map<Key, at::Tensor> committed_;
  std::map<Key, at::Tensor> pending_;
};

}  // namespace weft::nn
