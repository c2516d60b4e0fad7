#include "models/source_attention.h"

#include <ATen/Functions.h>

#include "base/error.h"
#include "models/config/family.h"

namespace weft::models {

void require_source(const ModelOptions& options) {
  if (!is_encoder_decoder(options)) {
    throw UserError(architecture_of(options) + ": has no source, must be an encoder-decoder");
  }
}

std::vector<int64_t> source_attention_layers(const ModelOptions& options) {
  constexpr int64_t kRecurrentLayer = 0;  // of the recorder
  return {kRecurrentLayer, options.layers + options.decoder.layers - 1};
}

std::vector<at::Tensor> last_source_attention(const nn::AttentionRecorder& recorder,
                                              const ModelOptions& options) {
  if (recorder.cross_layers().empty()) {
    throw UserError(architecture_of(options) +
                    ": has no alignments, as its decoder has no attention to the source");
  }
  std::vector<at::Tensor> result;
  for (const auto& weights : recorder.cross_layers().rbegin()->second) {  // (H, L, S)
    result.push_back(weights.to(at::kCPU, at::kFloat).mean(0));
  }
  return result;
}

}  // namespace weft::models
