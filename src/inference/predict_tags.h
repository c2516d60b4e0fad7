#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "inference/attention_map.h"
#include "metrics/tag_scheme.h"
#include "models/model.h"

namespace weft::inference {

/// The tag of a word, predicted at its first token; or of a sentence.
struct WordTag {
  int64_t tag = -1;  // -1: the tokenizer produced no token for the word
  double score = 0;  // probability
};

struct TagPrediction {
  std::vector<WordTag> words;
  std::vector<AttentionMap> attention;  // one for each chunk of the sentence
  bool was_split = false;  // the sentence exceeded the model's limit and was split into chunks
};

struct TagPredictOptions {
  std::optional<int64_t> batch_tokens{};    // of a batch, as in batching::run_batches
  std::vector<int64_t> attention_layers{};  // whose weights are returned
  std::string language = {};                // of the texts, if the model distinguishes languages
};

/// Tags in the order of the sentences (lists of words), which do not affect each other.
std::vector<TagPrediction> predict_tags(models::Model& model,
                                        const data::Tokenizer& tokenizer,
                                        const std::vector<std::vector<std::string>>& sentences,
                                        const TagPredictOptions& options = {});

struct SentenceTags {
  std::vector<WordTag> sentences;  // tag -1: beyond the model's limits, left out
  bool was_truncated = false;      // a sentence was shortened or left out
};

/// Tags of the sentences of documents, by a model that reads documents sentence by sentence. The
/// documents do not affect each other. `options.attention_layers` must be empty.
std::vector<SentenceTags> predict_sentence_tags(
    models::Model& model,
    const data::Tokenizer& tokenizer,
    const std::vector<std::vector<std::string>>& documents,
    const TagPredictOptions& options = {});

/// The entities of a prediction, each with the mean score of its words.
struct ScoredEntity {
  metrics::Entity entity;
  double score = 0;
};
std::vector<ScoredEntity> entities_of(const TagPrediction& prediction,
                                      const metrics::TagScheme& scheme);

}  // namespace weft::inference
