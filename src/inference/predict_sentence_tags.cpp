#include <string_view>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/threads.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/model_inputs.h"
#include "data/batch.h"
#include "data/datasets/sentence_encoder.h"
#include "data/datasets/sequence_template.h"
#include "inference/predict_tags.h"

namespace weft::inference {

namespace {

constexpr int64_t kDocumentsPerThread = 4;  // minimum

/// A document as the model reads it.
struct EncodedDocument {
  data::Example example;  // target_positions: last token of each sentence; no labels
  bool was_truncated = false;
};

EncodedDocument encode_sentences(const std::vector<std::string>& sentences,
                                 const data::SentenceEncoder& encoder,
                                 const data::SequenceTemplate& around,
                                 const batching::TokenTypeIds& types) {
  auto document = encoder.encode({sentences.begin(), sentences.end()});
  EncodedDocument result{.example = {}, .was_truncated = document.is_shortened};
  auto& example = result.example;
  example.ids.assign(document.ids.begin(), document.ids.end());
  types.assign(example,
               around.token_type_ids(std::ssize(example.ids) - around.num_special_tokens()));
  int64_t end = 0;
  for (const auto length : document.lengths) {
    end += length;
    example.target_positions.push_back(end - 1);
  }
  example.targets.assign(example.target_positions.size(), 0);
  example.sentence_lengths = std::move(document.lengths);
  return result;
}

/// Documents without sentences stay empty.
std::vector<EncodedDocument> encode_documents(
    const models::Model& model,
    const data::Tokenizer& tokenizer,
    const std::vector<std::vector<std::string>>& documents,
    const std::string& language) {
  const auto& options = model.options();
  const data::SentenceEncoder encoder(
      tokenizer, batching::sentence_limits(options, models::text_length(options)).value());
  const data::SequenceTemplate around(tokenizer, /*is_pair=*/false);
  const batching::TokenTypeIds types(options, language);
  std::vector<EncodedDocument> encoded(documents.size());
  parallel_for(std::ssize(documents), kDocumentsPerThread, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      if (!documents[i].empty()) {
        encoded[i] = encode_sentences(documents[i], encoder, around, types);
      }
    }
  });
  return encoded;
}

/// Runs the model on one batch, whose items are documents.
void tag_documents(models::Model& model,
                   const data::Batch& batch,
                   std::vector<SentenceTags>& results) {
  const auto device_batch = batching::to_device(batch, model.device());
  const auto logits =
      batching::tag_logits(model, device_batch.input, batch, device_batch.context);  // (M, C)
  const auto [probabilities, tags] = logits.to(at::kDouble).softmax(1).max(1);
  const auto host_probabilities = probabilities.cpu().contiguous();
  const auto host_tags = tags.cpu().contiguous();
  int64_t row = 0;
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    auto& sentences = results[static_cast<std::size_t>(batch.items[i])].sentences;
    for (int64_t sentence = 0; sentence < batch.sentence_counts[i]; ++sentence, ++row) {
      sentences[static_cast<std::size_t>(sentence)] = {
          .tag = host_tags.const_data_ptr<int64_t>()[row],
          .score = host_probabilities.const_data_ptr<double>()[row]};
    }
  }
}

}  // namespace

std::vector<SentenceTags> predict_sentence_tags(
    models::Model& model,
    const data::Tokenizer& tokenizer,
    const std::vector<std::vector<std::string>>& documents,
    const TagPredictOptions& options) {
  const at::NoGradGuard guard;
  check_attention_layers(model, options.attention_layers);
  const auto encoded = encode_documents(model, tokenizer, documents, options.language);
  std::vector<SentenceTags> results(documents.size());
  data::Batch batch;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    results[i].sentences.resize(documents[i].size());
    results[i].was_truncated = encoded[i].was_truncated;
    const auto size = std::ssize(encoded[i].example.ids);
    if (size == 0) {
      continue;
    }
    if (batch.sequences() > 0 && batch.tokens() + size > options.batch_tokens) {
      tag_documents(model, batch, results);
      batch = {};
    }
    batch.add(static_cast<int64_t>(i), encoded[i].example);
  }
  if (batch.sequences() > 0) {
    tag_documents(model, batch, results);
  }
  return results;
}

}  // namespace weft::inference
