#pragma once

#include <string>

#include "data/tokenizer.h"
#include "models/model.h"

namespace weft::train {

/// Sets the word embeddings of the tokens that are words of the file, the first of equal ones. Logs
/// how many these are. Throws UserError: another number of dimensions, no word in common, a model
/// without word embeddings; formats::Error.
void load_pretrained_embeddings(const std::string& path,
                                const data::Tokenizer& tokenizer,
                                models::Model& model);

/// Throws what load_pretrained_embeddings would after reading the first word.
void check_pretrained_embeddings(const std::string& path, const models::Model& model);

}  // namespace weft::train
