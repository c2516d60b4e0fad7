#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/datasets/sentence_encoder.h"
#include "data/images/image_dataset.h"
#include "data/images/image_options.h"
#include "data/tokenizer.h"
#include "models/config/options.h"

namespace weft::batching {

/// Names, by id, of the languages that a model distinguishes; empty: none.
std::vector<std::string> languages_of(const models::ModelOptions& model);

/// Throws UserError if the model distinguishes languages and `language` is not one of them, or if
/// it does not and one is given.
void check_language(const models::ModelOptions& model, const std::string& language);

/// Sets the token type ids of a model's input texts: segments, languages, or none.
class TokenTypeIds {
 public:
  /// `language`: of all texts. Throws like check_language.
  TokenTypeIds(const models::ModelOptions& model, const std::string& language);

  /// `segments`: segment ids of the example's tokens, from the tokenizer.
  void assign(data::Example& example, std::vector<int64_t> segments) const;

 private:
  bool has_segments_;
  std::optional<int64_t> language_;
};

/// How texts of at most `length` tokens are divided into sentences for the model; nullopt: they are
/// not.
std::optional<data::SentenceLimits> sentence_limits(const models::ModelOptions& model,
                                                    int64_t length);

/// Throws UserError for a model that reads documents sentence by sentence. `action`: what is not
/// possible with it, for the message.
void reject_documents(const models::ModelOptions& model, const std::string& action);

/// The model's image settings, without training options. `pixels`: data/images/image_format.h.
data::ImageSettings image_settings(const models::ModelOptions& model,
                                   const data::ImageOptions& options,
                                   const data::Tokenizer& pixels);

}  // namespace weft::batching
