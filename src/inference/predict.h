#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "formats/image.h"
#include "inference/attention_map.h"
#include "models/model.h"

namespace weft::inference {

/// A text or a pair of texts to predict for; for image models an image.
struct PredictionRequest {
  std::string text;  // or the path of the image
  std::optional<std::string> text_pair = {};
  std::optional<formats::Image> image = {};  // else it is read from the path
};

/// A prediction for a masked token.
struct MaskPrediction {
  int32_t id = 0;
  std::string token;      // of the vocabulary, `##ing`
  std::string token_str;  // decoded, as transformers shows it
  double score = 0;       // probability
};

/// Model output. Which fields are filled depends on the head.
struct Prediction {
  std::vector<double> scores;  // class probabilities (also is-next, is-random)
  std::vector<double> values;  // regression: one or several
  std::vector<std::vector<MaskPrediction>>
      mask_predictions;        // for each mask token of the text, best first
  int64_t layers = 0;          // that it needed, with early exits; else 0
  bool was_truncated = false;  // the text was longer than the model's limit
  AttentionMap attention;      // if layers were requested
};

struct PredictOptions {
  std::optional<int64_t> batch_tokens{};    // of a batch, as in batching::run_batches
  int64_t top_k = 5;                        // predictions for each mask token
  std::vector<int64_t> attention_layers{};  // whose weights are returned
  std::string language = {};                // of the texts, if the model distinguishes languages
};

/// Throws UserError, with what to do instead, for a model whose head predicts nothing for a text,
/// its words or an image.
void require_text_head(const models::ModelOptions& options);

/// Returns predictions in the order of the requests. They are batched by length and do not
/// affect each other. Throws UserError for a model whose head makes no predictions, and like
/// TokenTypeIds for the language.
std::vector<Prediction> predict(models::Model& model,
                                const data::Tokenizer& tokenizer,
                                const std::vector<PredictionRequest>& requests,
                                const PredictOptions& options = {});

}  // namespace weft::inference
