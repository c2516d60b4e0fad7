#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <torch/nn/module.h>

#include "base/registry.h"

namespace weft::nn {

struct MemoryCompressionOptions {
  int64_t dim = 0;  // D
  int64_t rate = 3;
};

/// Makes one vector of every `rate` rows of a memory.
class MemoryCompression : public torch::nn::Module {
 public:
  explicit MemoryCompression(const MemoryCompressionOptions& options) : rate_(options.rate) {}

  int64_t rate() const { return rate_; }
  /// (n rate, D) -> (n, D). In the order of the rows.
  virtual at::Tensor forward(const at::Tensor& rows) = 0;

 private:
  int64_t rate_;
};

/// The compression functions of arXiv:1911.05507, section 3.2, by name.
struct MemoryCompressionDefinition {
  std::string_view name;
  std::shared_ptr<MemoryCompression> (*make)(const MemoryCompressionOptions& options);
};
const Registry<MemoryCompressionDefinition>& memory_compressions();

}  // namespace weft::nn
