#pragma once

#include <memory>

#include "data/images/image_format.h"
#include "data/tokenizer.h"

namespace weft::data {

/// Takes the tokenizer's role for image models, in a run and in a model directory: it stores the
/// image preprocessing, is saved as preprocessor_config.json, has no pieces and rejects text.
std::shared_ptr<const Tokenizer> make_image_processor(const ImagePreprocessorConfig& format);

/// Returns the format of an image processor. Throws data::Error for a text tokenizer.
const ImagePreprocessorConfig& preprocessor_config_of(const Tokenizer& tokenizer);

/// Loads it from a model directory; null if there is no preprocessor_config.json.
std::shared_ptr<const Tokenizer> load_image_processor(const std::string& directory);

}  // namespace weft::data
