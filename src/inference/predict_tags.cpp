#include "inference/predict_tags.h"

#include <algorithm>
#include <numeric>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "batching/model_inputs.h"
#include "data/batch.h"
#include "data/datasets/sequence_template.h"
#include "data/text/text_words.h"

namespace weft::inference {

namespace {

/// Part of a sentence that the model processes at once.
struct Chunk {
  std::size_t sentence = 0;
  std::vector<std::size_t> words;  // of the targets
  data::Example example;           // target_positions: first token of each word; no labels
};

/// Splits sentences into chunks.
class Chunker {
 public:
  Chunker(const models::ModelOptions& model,
          const data::Tokenizer& tokenizer,
          const std::string& language)
      : types_(model, language),
        encoder_(tokenizer),
        template_(tokenizer, false),
        max_tokens_(model.length - template_.num_special_tokens()) {}

  std::vector<Chunk> operator()(std::size_t sentence, const std::vector<std::string>& words) const {
    std::vector<int32_t> ids;
    std::vector<int32_t> counts;
    for (const std::string& word : words) {
      const std::size_t before = ids.size();
      encoder_.encode(word, ids);
      counts.push_back(static_cast<int32_t>(ids.size() - before));
    }
    std::vector<Chunk> chunks;
    std::size_t word = 0;
    auto from = ids.begin();
    for (const int64_t end : data::chunk_words(counts, max_tokens_)) {
      Chunk chunk{.sentence = sentence, .words = {}, .example = {}};
      int64_t pieces = 0;
      for (; word < static_cast<std::size_t>(end); ++word) {
        if (counts[word] > 0) {
          chunk.words.push_back(word);
          chunk.example.target_positions.push_back(static_cast<int64_t>(template_.before().size()) +
                                                   pieces);
        }
        pieces += counts[word];
      }
      fill(chunk.example, {from, from + std::min(pieces, max_tokens_)});
      from += pieces;
      chunks.push_back(std::move(chunk));
    }
    return chunks;
  }

 private:
  void fill(data::Example& example, const std::vector<int32_t>& pieces) const {
    example.ids = template_.before();
    example.ids.insert(example.ids.end(), pieces.begin(), pieces.end());
    example.ids.insert(example.ids.end(), template_.after().begin(), template_.after().end());
    types_.assign(example, template_.token_type_ids(static_cast<int64_t>(pieces.size())));
    example.targets.assign(example.target_positions.size(), 0);
  }

  batching::TokenTypeIds types_;
  data::WordEncoder encoder_;
  data::SequenceTemplate template_;
  int64_t max_tokens_;
};

/// Runs the model on one batch of chunks.
void predict_batch(models::Model& model,
                   const std::vector<Chunk>& chunks,
                   const data::Batch& batch,
                   const TagPredictOptions& options,
                   std::vector<TagPrediction>& results) {
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
    const auto& chunk = chunks[static_cast<std::size_t>(batch.items[i])];
    auto& result = results[chunk.sentence];
    for (const std::size_t word : chunk.words) {
      result.words[word] = {.tag = host_tags.const_data_ptr<int64_t>()[row],
                            .score = host_probabilities.const_data_ptr<double>()[row]};
      ++row;
    }
    if (!options.attention_layers.empty()) {
      result.attention.push_back(std::move(maps[i]));
    }
  }
}

}  // namespace

std::vector<TagPrediction> predict_tags(models::Model& model,
                                        const data::Tokenizer& tokenizer,
                                        const std::vector<std::vector<std::string>>& sentences,
                                        const TagPredictOptions& options) {
  const at::NoGradGuard guard;
  check_attention_layers(model, options.attention_layers);
  const Chunker chunker(model.options(), tokenizer, options.language);
  std::vector<Chunk> chunks;
  std::vector<TagPrediction> results(sentences.size());
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    results[i].words.resize(sentences[i].size());
    auto more = chunker(i, sentences[i]);
    results[i].was_split = more.size() > 1;
    std::move(more.begin(), more.end(), std::back_inserter(chunks));
  }
  data::Batch batch;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto size = static_cast<int64_t>(chunks[i].example.ids.size());
    if (batch.sequences() > 0 && batch.tokens() + size > options.batch_tokens) {
      predict_batch(model, chunks, batch, options, results);
      batch = {};
    }
    batch.add(static_cast<int64_t>(i), chunks[i].example);
  }
  if (batch.sequences() > 0) {
    predict_batch(model, chunks, batch, options, results);
  }
  return results;
}

std::vector<ScoredEntity> entities_of(const TagPrediction& prediction,
                                      const metrics::TagScheme& scheme) {
  std::vector<int64_t> tags;
  for (const WordTag& word : prediction.words) {
    tags.push_back(word.tag);
  }
  std::vector<ScoredEntity> found;
  for (const metrics::Entity& entity : scheme.entities(tags)) {
    const auto sum = std::accumulate(
        prediction.words.begin() + entity.begin, prediction.words.begin() + entity.end, 0.0,
        [](double total, const WordTag& word) { return total + word.score; });
    found.push_back(
        {.entity = entity, .score = sum / static_cast<double>(entity.end - entity.begin)});
  }
  return found;
}

}  // namespace weft::inference
