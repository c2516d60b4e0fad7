#include "inference/tag_examples.h"

#include <utility>

#include <ATen/Functions.h>

#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/run_batches.h"

namespace weft::inference {

namespace {

void tag_batch(models::Model& model,
               const data::Batch& batch,
               const TagPredictOptions& options,
               std::vector<TaggedExample>& results) {
  auto device_batch = batching::to_device(batch, model.device());
  nn::AttentionRecorder recorder(options.attention_layers);
  device_batch.context.attention_recorder = &recorder;
  const auto logits =
      batching::tag_logits(model, device_batch.input, batch, device_batch.context);  // (M, C)
  const auto [probabilities, tags] = logits.to(at::kDouble).softmax(1).max(1);
  const auto host_probabilities = probabilities.cpu().contiguous();
  const auto host_tags = tags.cpu().contiguous();
  auto maps = attention_maps(recorder, batch);
  int64_t row = 0;
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    auto& result = results[static_cast<std::size_t>(batch.items[i])];
    for (auto& tag : result.tags) {
      tag = {.tag = host_tags.const_data_ptr<int64_t>()[row],
             .score = host_probabilities.const_data_ptr<double>()[row]};
      ++row;
    }
    if (!options.attention_layers.empty()) {
      result.attention = std::move(maps[i]);
    }
  }
}

}  // namespace

std::vector<TaggedExample> tag_examples(models::Model& model,
                                        const std::vector<data::Example>& examples,
                                        const TagPredictOptions& options) {
  std::vector<TaggedExample> results(examples.size());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    results[i].tags.resize(examples[i].tokens() > 0 ? examples[i].target_positions.size() : 0);
  }
  batching::run_batches(
      examples, model.device(), options.batch_tokens,
      [&](const data::Batch& batch) { tag_batch(model, batch, options, results); });
  return results;
}

}  // namespace weft::inference
