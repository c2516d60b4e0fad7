#include "inference/predict.h"

#include <algorithm>

#include <ATen/Functions.h>

#include "base/error.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "batching/device_batch.h"
#include "batching/model_inputs.h"
#include "batching/run_batches.h"
#include "data/batch.h"
#include "data/datasets/sentence_encoder.h"
#include "data/datasets/sequence_template.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"

namespace weft::inference {

namespace {

/// A tokenised request.
struct EncodedRequest {
  data::Example example;
  std::vector<int64_t> segments;  // segment ids of a pair
  bool was_truncated = false;
};

EncodedRequest encode_document(const PredictionRequest& request,
                               const data::Tokenizer& tokenizer,
                               const data::SentenceLimits& limits,
                               const batching::TokenTypeIds& types) {
  if (request.text_pair) {
    throw UserError("text_pair: a model of documents reads one text");
  }
  std::vector<int32_t> ids;
  EncodedRequest result;
  result.was_truncated = data::SentenceEncoder(tokenizer, limits).encode(request.text, ids);
  const auto sequence = tokenizer.sequence(ids);
  result.example.ids.assign(sequence.ids.begin(), sequence.ids.end());
  types.assign(result.example, {sequence.token_type_ids.begin(), sequence.token_type_ids.end()});
  result.example.sentence_lengths =
      data::sentence_lengths(result.example.ids, data::SequenceTemplate(tokenizer, false));
  return result;
}

EncodedRequest encode_request(const PredictionRequest& request,
                              const data::Tokenizer& tokenizer,
                              const models::ModelOptions& model,
                              const batching::TokenTypeIds& types) {
  if (const auto limits = batching::sentence_limits(model, models::text_length(model))) {
    return encode_document(request, tokenizer, *limits, types);
  }
  std::vector<int32_t> first;
  std::vector<int32_t> second;
  tokenizer.encode(request.text, first);
  if (request.text_pair) {
    tokenizer.encode(*request.text_pair, second);
  }
  const auto before = first.size() + second.size();
  const int64_t max_tokens =
      model.length - tokenizer.num_special_tokens_to_add(request.text_pair.has_value());
  const auto [keeps_first, keeps_second] = data::truncate_pair(
      static_cast<int64_t>(first.size()), static_cast<int64_t>(second.size()), max_tokens);
  data::truncate(first, keeps_first, tokenizer);
  data::truncate(second, keeps_second, tokenizer);
  if (before == 0 && max_tokens == model.length) {
    first.push_back(data::empty_text_token(tokenizer));
  }
  const auto sequence =
      request.text_pair ? tokenizer.sequence(first, second) : tokenizer.sequence(first);
  EncodedRequest result;
  result.was_truncated = first.size() + second.size() < before;
  if (request.text_pair) {
    result.segments = segments_of_pair(tokenizer, static_cast<int64_t>(first.size()), keeps_second);
  }
  result.example.ids.assign(sequence.ids.begin(), sequence.ids.end());
  types.assign(result.example, {sequence.token_type_ids.begin(), sequence.token_type_ids.end()});
  return result;
}

/// The image of the request, or of the file that it names.
EncodedRequest encode_image(const PredictionRequest& request, const data::ImageSettings& settings) {
  EncodedRequest result;
  result.example = data::image_example(
      request.image ? *request.image : formats::read_image(request.text), settings);
  return result;
}

std::vector<EncodedRequest> encode_all(const std::vector<PredictionRequest>& requests,
                                       const data::Tokenizer& tokenizer,
                                       const models::ModelOptions& model,
                                       const batching::TokenTypeIds& types) {
  constexpr int64_t kMinTextsPerThread = 16;  // minimum per thread
  std::vector<EncodedRequest> texts(requests.size());
  const bool is_of_images = models::reads_images(model);
  const auto settings =
      is_of_images ? batching::image_settings(model, {}, tokenizer) : data::ImageSettings{};
  parallel_for(
      static_cast<int64_t>(requests.size()), kMinTextsPerThread, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          texts[i] = is_of_images ? encode_image(requests[i], settings)
                                  : encode_request(requests[i], tokenizer, model, types);
        }
      });
  return texts;
}

/// Runs the model on one batch and writes the predictions to `results`.
class BatchPredictor {
 public:
  BatchPredictor(models::Model& model,
                 const data::Tokenizer& tokenizer,
                 const PredictOptions& options,
                 std::vector<Prediction>& results)
      : model_(model), tokenizer_(tokenizer), options_(options), results_(results) {}

  void operator()(const data::Batch& batch) const {
    auto device_batch = batching::to_device(batch, model_.device());
    nn::AttentionRecorder recorder(options_.attention_layers);
    if (!options_.attention_layers.empty()) {
      device_batch.context.attention_recorder = &recorder;
    }
    std::vector<int64_t> layers;
    device_batch.context.exit_layers = &layers;
    const auto& head = models::head_of(model_.options());
    const auto output = head.classifies_sequences
                            ? model_.classify(device_batch.input, device_batch.context)  // (B, C)
                            : model_.hidden(device_batch.input, device_batch.context);   // (N, D)
    keep_attention(attention_maps(recorder, batch), batch);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      result(batch, i).layers = layers[i];
    }
    if (head.classifies_sequences) {
      sequences(output, batch);
    }
    if (head.predicts_next_sentence) {
      classes(model_.next_sentence_logits(model_.pooled(output, device_batch.context)), batch);
    }
    if (head.predicts_masked_tokens()) {
      predict_masks(output, batch);
    }
  }

 private:
  void keep_attention(std::vector<AttentionMap> maps, const data::Batch& batch) const {
    if (options_.attention_layers.empty()) {
      return;
    }
    for (std::size_t i = 0; i < maps.size(); ++i) {
      result(batch, i).attention = std::move(maps[i]);
    }
  }

  void sequences(const at::Tensor& logits, const data::Batch& batch) const {
    if (!model_.options().is_regression) {
      return classes(logits, batch);
    }
    const auto values = logits.to(at::kDouble).cpu().contiguous();  // (B, T)
    const auto* data = values.const_data_ptr<double>();
    for (std::size_t i = 0; i < batch.items.size(); ++i, data += values.size(1)) {
      result(batch, i).values.assign(data, data + values.size(1));
    }
  }

  void classes(const at::Tensor& logits, const data::Batch& batch) const {
    const auto scores = logits.to(at::kDouble);
    const auto probabilities =
        (model_.options().is_multi_label ? scores.sigmoid() : scores.softmax(1))
            .cpu()
            .contiguous();  // (B, C)
    const auto* data = probabilities.const_data_ptr<double>();
    for (std::size_t i = 0; i < batch.items.size(); ++i, data += probabilities.size(1)) {
      result(batch, i).scores.assign(data, data + probabilities.size(1));
    }
  }

  void predict_masks(const at::Tensor& hidden, const data::Batch& batch) const {
    const int64_t mask = tokenizer_.special_token_ids().mask;
    std::vector<int64_t> rows;
    std::vector<std::size_t> sequences;
    for (std::size_t i = 0; i < batch.items.size(); ++i) {
      for (int64_t row = batch.offsets[i]; row < batch.offsets[i + 1]; ++row) {
        if (batch.ids[static_cast<std::size_t>(row)] == mask) {
          rows.push_back(row);
          sequences.push_back(i);
        }
      }
    }
    if (!rows.empty()) {
      predict_mask_rows(hidden.index_select(0, kernels::to_device(rows, hidden.device())),
                        sequences, batch);
    }
  }

  void predict_mask_rows(const at::Tensor& rows,
                         const std::vector<std::size_t>& sequences,
                         const data::Batch& batch) const {
    const auto logits = model_.lm_logits(rows);  // (M, V)
    const auto best =
        std::min<int64_t>(options_.top_k, std::min(logits.size(1), tokenizer_.size()));
    const auto known = logits.slice(1, 0, tokenizer_.size()).to(at::kFloat).softmax(1);
    const auto [scores, ids] = known.topk(best, 1);
    const auto host_scores = scores.cpu().contiguous();
    const auto host_ids = ids.cpu().contiguous();
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      auto& candidates = result(batch, sequences[i]).mask_predictions.emplace_back();
      for (int64_t k = 0; k < best; ++k) {
        const auto at = static_cast<int64_t>(i) * best + k;
        const auto id = static_cast<int32_t>(host_ids.const_data_ptr<int64_t>()[at]);
        candidates.push_back({.id = id,
                              .token = tokenizer_.piece(id),
                              .token_str = tokenizer_.decode({id}, false),
                              .score = host_scores.const_data_ptr<float>()[at]});
      }
    }
  }

  Prediction& result(const data::Batch& batch, std::size_t sequence) const {
    return results_[static_cast<std::size_t>(batch.items[sequence])];
  }

  models::Model& model_;
  const data::Tokenizer& tokenizer_;
  const PredictOptions& options_;
  std::vector<Prediction>& results_;
};

}  // namespace

void require_text_head(const models::ModelOptions& options) {
  const auto& head = models::head_of(options);
  if (head.predicts_tokens) {
    batching::reject_documents(options, "predict: masked tokens");
  }
  const bool is_of_texts =
      head.has_classes() || head.predicts_next_sentence || head.predicts_masked_tokens();
  if (!is_of_texts) {
    throw UserError(str_cat(
        models::architecture_of(options), ": has no head that predicts for a text. ",
        head.is_bare ? "`weft embed` gives its sentence vectors; for classes, fine-tune it "
                       "with `objective: {type: classify}` and `init_from:` this model"
        : head.predicts_tokens ? "`weft generate` writes texts with it, `weft score` rates them"
                               : "`weft evaluate` measures it"));
  }
}

std::vector<Prediction> predict(models::Model& model,
                                const data::Tokenizer& tokenizer,
                                const std::vector<PredictionRequest>& requests,
                                const PredictOptions& options) {
  check_attention_layers(model, options.attention_layers);
  require_text_head(model.options());
  const batching::TokenTypeIds types(model.options(), options.language);
  auto texts = encode_all(requests, tokenizer, model.options(), types);
  std::vector<Prediction> results(requests.size());
  std::vector<data::Example> examples;
  examples.reserve(texts.size());
  for (auto& text : texts) {
    examples.push_back(std::move(text.example));
  }
  batching::run_batches(examples, model.device(), options.batch_tokens,
                        BatchPredictor(model, tokenizer, options, results));
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].was_truncated = texts[i].was_truncated;
    results[i].attention.segments = texts[i].segments;
  }
  return results;
}

}  // namespace weft::inference
