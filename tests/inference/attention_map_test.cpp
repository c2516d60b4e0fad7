#include "inference/attention_map.h"

#include <algorithm>
#include <numeric>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "batching/device_batch.h"
#include "formats/safetensors.h"
#include "inference/predict.h"
#include "models/directory.h"
#include "models/weights/tensors.h"
#include "nn/attention/attention_recorder.h"
#include "objectives/batches.h"
#include "support/toy_tokenizer.h"

namespace weft::inference {
namespace {

const std::string kAttentionMapReference = std::string(WEFT_SOURCE_DIR) + "/tests/reference/";

at::Tensor tensor_of(const formats::SafetensorsFile& file, const std::string& name) {
  return models::tensor_of(file.at(name));
}

/// Weights that transformers computed by its plain path (scripts/make_tagging_reference.py).
class AttentionReference : public ::testing::TestWithParam<std::string> {};

TEST_P(AttentionReference, EqualsTheWeightsOfTransformers) {
  const at::NoGradGuard guard;
  const auto folder = kAttentionMapReference + "models/" + GetParam();
  const auto model = models::load_model(folder, models::read_model_config(folder), 0).model;
  const formats::SafetensorsFile inputs(folder + "/inputs.safetensors");
  const formats::SafetensorsFile expected(kAttentionMapReference + "tagging/" + GetParam() +
                                          ".safetensors");
  const auto ids = tensor_of(inputs, "input_ids");
  const auto mask = tensor_of(inputs, "attention_mask");
  const bool has_token_type_ids = inputs.tensors().contains("token_type_ids");
  const auto types = has_token_type_ids ? tensor_of(inputs, "token_type_ids") : at::zeros_like(ids);
  data::Batch batch;
  for (int64_t row = 0; row < ids.size(0); ++row) {
    data::Example example;
    for (int64_t i = 0; i < mask[row].sum().item<int64_t>(); ++i) {
      example.ids.push_back(ids[row][i].item<int64_t>());
      example.token_type_ids.push_back(types[row][i].item<int64_t>());
    }
    if (model->options().type_vocab_size < 2) {
      example.token_type_ids.clear();
    }
    batch.add(row, example);
  }
  std::vector<int64_t> layers(static_cast<std::size_t>(model->options().layers));
  std::iota(layers.begin(), layers.end(), 0);
  check_attention_layers(*model, layers);
  nn::AttentionRecorder recorder(layers);
  auto device_batch = batching::to_device(batch, at::kCPU);
  device_batch.context.attention_recorder = &recorder;
  model->hidden(device_batch.input, device_batch.context);
  const auto maps = attention_maps(recorder, batch);
  for (const int64_t layer : layers) {
    const auto padded = tensor_of(expected, "layer." + std::to_string(layer));  // (B, H, L, L)
    for (std::size_t row = 0; row < maps.size(); ++row) {
      const auto length = static_cast<int64_t>(maps[row].ids.size());
      const auto wanted = padded[static_cast<int64_t>(row)].slice(1, 0, length).slice(2, 0, length);
      EXPECT_LT((maps[row].layers.at(layer) - wanted).abs().max().item<double>(), 1e-5)
          << "layer " << layer << ", row " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models,
                         AttentionReference,
                         ::testing::Values("bert-sequence",
                                           "bert-token",
                                           "roberta-pre-norm",
                                           "distilbert-sequence",
                                           "electra-token",
                                           "xlm-roberta-model",
                                           "modernbert-sequence",
                                           "modernbert-token"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(AttentionMap, DistinguishesTheTextsOfAPair) {
  const test::ToyTokenizer tokenizer({"a", "b", "c"});
  const auto model = models::make_model(test::tiny_model(models::Head::kSequence), 1);
  const std::vector<PredictionRequest> queries = {{.text = "a b", .text_pair = "c"},
                                                  {.text = "c", .text_pair = std::nullopt}};
  const auto found = predict(*model, tokenizer, queries, {.attention_layers = {0}});
  EXPECT_EQ(found[0].attention.ids, (std::vector<int64_t>{2, 5, 6, 3, 7, 3}));
  EXPECT_EQ(found[0].attention.segments, (std::vector<int64_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_TRUE(found[1].attention.segments.empty());
  EXPECT_EQ(found[1].attention.layers.at(0).sizes(), (std::vector<int64_t>{2, 3, 3}));
  const auto plain = predict(*model, tokenizer, queries);
  EXPECT_EQ(plain[0].scores, found[0].scores);
  EXPECT_TRUE(plain[0].attention.layers.empty());
}

TEST(AttentionMap, RefusesLayersThatAreNotThere) {
  const auto model = models::make_model(test::tiny_model(models::Head::kSequence), 1);
  check_attention_layers(*model, {0});
  EXPECT_THROW(check_attention_layers(*model, {1}), UserError);
  EXPECT_THROW(check_attention_layers(*model, {-1}), UserError);
}

}  // namespace
}  // namespace weft::inference
