#include "nn/attention/memory/memory_compression.h"

#include <ATen/Functions.h>

#include "nn/linear.h"

namespace weft::nn {

namespace {

/// (n rate, D) -> (n, rate, D)
at::Tensor windows(const at::Tensor& rows, int64_t rate) {
  return rows.reshape({rows.size(0) / rate, rate, rows.size(1)});
}

class MeanCompression : public MemoryCompression {
 public:
  using MemoryCompression::MemoryCompression;
  at::Tensor forward(const at::Tensor& rows) override { return windows(rows, rate()).mean(1); }
};

class MaxCompression : public MemoryCompression {
 public:
  using MemoryCompression::MemoryCompression;
  at::Tensor forward(const at::Tensor& rows) override { return windows(rows, rate()).amax(1); }
};

/// A convolution whose kernel and stride are the rate, written as a product of whole windows.
class ConvolutionCompression : public MemoryCompression {
 public:
  explicit ConvolutionCompression(const MemoryCompressionOptions& options)
      : MemoryCompression(options) {
    convolution_ = register_module("convolution",
                                   Linear(LinearOptions{options.rate * options.dim, options.dim}));
  }
  at::Tensor forward(const at::Tensor& rows) override {
    return convolution_->forward(windows(rows, rate()).flatten(1));
  }

 private:
  Linear convolution_{nullptr};
};

template <class Compression>
std::shared_ptr<MemoryCompression> make_compression(const MemoryCompressionOptions& options) {
  return std::make_shared<Compression>(options);
}

}  // namespace

const Registry<MemoryCompressionDefinition>& memory_compressions() {
  static const Registry<MemoryCompressionDefinition> kRegistry(
      "memory compression", {{"convolution", make_compression<ConvolutionCompression>},
                             {"mean", make_compression<MeanCompression>},
                             {"max", make_compression<MaxCompression>}});
  return kRegistry;
}

}  // namespace weft::nn
