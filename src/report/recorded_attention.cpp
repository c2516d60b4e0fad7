#include "report/recorded_attention.h"

#include <numeric>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/attention/attention_recorder.h"
#include "report/examples.h"

namespace weft::report {

namespace {

constexpr int64_t kLayers = 1000;  // more than a model has

std::map<int64_t, at::Tensor> of_first_sequence(
    const std::map<int64_t, nn::AttentionRecorder::Weights>& recorded) {
  std::map<int64_t, at::Tensor> layers;
  for (const auto& [layer, weights] : recorded) {
    layers[layer] = weights.front().to(at::kCPU, at::kFloat).contiguous();
  }
  return layers;
}

}  // namespace

RecordedAttention recorded_attention(const LoadedRun& run, const data::Batch& batch) {
  std::vector<int64_t> layers(kLayers);
  std::iota(layers.begin(), layers.end(), 0);
  nn::AttentionRecorder recorder(layers);
  hidden_states_of(run, batch, &recorder);
  return {.layers = of_first_sequence(recorder.layers()),
          .cross_layers = of_first_sequence(recorder.cross_layers())};
}

at::Tensor attention_rollout(const std::map<int64_t, at::Tensor>& layers) {
  at::Tensor product;
  for (const auto& [layer, weights] : layers) {
    const auto mean = weights.to(at::kDouble).mean(0);
    const auto own = (mean + at::eye(mean.size(0), mean.options())) / 2;
    product = product.defined() ? own.matmul(product) : own;
  }
  return product;
}

}  // namespace weft::report
