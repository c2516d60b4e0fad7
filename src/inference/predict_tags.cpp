#include "inference/predict_tags.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "batching/model_inputs.h"
#include "data/batch.h"
#include "data/datasets/sequence_template.h"
#include "data/text/text_words.h"
#include "inference/tag_examples.h"

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

}  // namespace

std::vector<TagPrediction> predict_tags(models::Model& model,
                                        const data::Tokenizer& tokenizer,
                                        const std::vector<std::vector<std::string>>& sentences,
                                        const TagPredictOptions& options) {
  check_attention_layers(model, options.attention_layers);
  const Chunker chunker(model.options(), tokenizer, options.language);
  std::vector<Chunk> chunks;
  std::vector<data::Example> examples;
  std::vector<TagPrediction> results(sentences.size());
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    results[i].words.resize(sentences[i].size());
    auto more = chunker(i, sentences[i]);
    results[i].was_split = more.size() > 1;
    for (auto& chunk : more) {
      examples.push_back(std::move(chunk.example));
      chunks.push_back(std::move(chunk));
    }
  }
  auto tagged = tag_examples(model, examples, options);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    auto& result = results[chunks[i].sentence];
    for (std::size_t k = 0; k < chunks[i].words.size(); ++k) {
      result.words[chunks[i].words[k]] = tagged[i].tags[k];
    }
    if (tagged[i].attention) {
      result.attention.push_back(std::move(*tagged[i].attention));
    }
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
