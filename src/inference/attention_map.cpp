#include "inference/attention_map.h"

#include "base/error.h"
#include "base/string_util.h"
#include "batching/model_inputs.h"
#include "data/datasets/sequence_template.h"
#include "models/config/family.h"

namespace weft::inference {

std::vector<AttentionMap> attention_maps(const nn::AttentionRecorder& recorder,
                                         const data::Batch& batch) {
  std::vector<AttentionMap> maps(batch.items.size());
  for (std::size_t i = 0; i < maps.size(); ++i) {
    maps[i].ids.assign(batch.ids.begin() + batch.offsets[i],
                       batch.ids.begin() + batch.offsets[i + 1]);
    for (const auto& [layer, weights] : recorder.layers()) {
      maps[i].layers[layer] = weights.at(i).cpu().contiguous();
    }
  }
  return maps;
}

std::vector<int64_t> segments_of_pair(const data::Tokenizer& tokenizer,
                                      int64_t first,
                                      int64_t second) {
  const data::SequenceTemplate around(tokenizer, true);
  const auto size = [](const auto& ids) { return static_cast<int64_t>(ids.size()); };
  const int64_t begin = size(around.before()) + first + size(around.between());
  std::vector<int64_t> segments(static_cast<std::size_t>(begin), 0);
  segments.resize(static_cast<std::size_t>(begin + second + size(around.after())), 1);
  return segments;
}

void check_attention_layers(const models::Model& model, const std::vector<int64_t>& layers) {
  const auto& options = model.options();
  if (layers.empty()) {
    return;
  }
  batching::reject_documents(options, "--attention");
  if (models::find_module(model, "layers.0.attention") == nullptr) {
    throw UserError(
        str_cat("--attention: ", models::word_of(options.family), " has no attention heads"));
  }
  for (const int64_t layer : layers) {
    if (layer < 0 || layer >= options.layers) {
      throw UserError(str_cat("--attention: there is no layer ", layer, ", the model has 0 to ",
                              options.layers - 1));
    }
  }
}

}  // namespace weft::inference
