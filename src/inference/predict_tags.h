#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "inference/attention_map.h"
#include "metrics/tag_scheme.h"
#include "models/model.h"

namespace weft::inference {

/// The tag of a word, read from its first piece.
struct WordTag {
  int64_t tag = -1;  // -1: the tokenizer left nothing of the word
  double score = 0;  // probability
};

struct TagPrediction {
  std::vector<WordTag> words;
  std::vector<AttentionMap> attention;  // one for each stretch that the model saw
  bool was_split = false;  // the sentence was longer than the model takes, it was seen in stretches
};

struct TagPredictOptions {
  int64_t batch_tokens = 4096;              // budget of a batch
  std::vector<int64_t> attention_layers{};  // whose weights are wanted
  std::string language = {};                // of the texts, where the model tells languages apart
};

/// Tags in the order of the sentences, which are words each. They do not depend on each other.
std::vector<TagPrediction> predict_tags(models::Model& model,
                                        const data::Tokenizer& tokenizer,
                                        const std::vector<std::vector<std::string>>& sentences,
                                        const TagPredictOptions& options = {});

/// The entities of a prediction, each with the mean score of its words.
struct ScoredEntity {
  metrics::Entity place;
  double score = 0;
};
std::vector<ScoredEntity> entities_of(const TagPrediction& prediction,
                                      const metrics::TagScheme& scheme);

}  // namespace weft::inference
