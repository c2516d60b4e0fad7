#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "inference/attention_map.h"
#include "models/model.h"

namespace weft::inference {

/// A text, or a pair of texts, that a model is asked about; of models of images an image.
struct Query {
  std::string text;  // or the path of the image
  std::optional<std::string> text_pair;
};

/// A guess for a hidden token.
struct Fill {
  int32_t id = 0;
  std::string token;
  double score = 0;  // probability
};

/// What a model says. Which fields are filled depends on its head.
struct Prediction {
  std::vector<double> scores;            // classes (also is-next, is-random): probabilities
  std::vector<double> values;            // regression: one, or several
  std::vector<std::vector<Fill>> fills;  // for each mask token of the text, best first
  bool was_cut = false;                  // the text was longer than the model takes
  AttentionMap attention;                // where layers were asked for
};

struct PredictOptions {
  int64_t batch_tokens = 4096;              // budget of a batch
  int64_t best = 5;                         // fills for each mask token
  std::vector<int64_t> attention_layers{};  // whose weights are wanted
  std::string language = {};                // of the texts, where the model tells languages apart
};

/// Predictions in the order of the queries. They are batched by length, packed, and do not depend
/// on each other. Throws UserError for a model whose head answers nothing, and as
/// TokenTypes for the language.
std::vector<Prediction> predict(models::Model& model,
                                const data::Tokenizer& tokenizer,
                                const std::vector<Query>& queries,
                                const PredictOptions& options = {});

}  // namespace weft::inference
