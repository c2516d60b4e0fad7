#pragma once

#include <memory>

#include "data/images/image_format.h"
#include "data/tokenizer.h"

namespace weft::data {

/// What stands in a run and in a model directory where models of text have their tokenizer: it
/// knows how images are brought to the model, is saved as preprocessor_config.json, has no pieces
/// and refuses text.
std::shared_ptr<const Tokenizer> make_pixel_tokenizer(const ImageFormat& format);

/// The format that such a one knows. Throws data::Error for a tokenizer of text.
const ImageFormat& image_format_of(const Tokenizer& tokenizer);

/// Of a model directory; nothing where it has no preprocessor_config.json.
std::shared_ptr<const Tokenizer> load_pixel_tokenizer(const std::string& directory);

}  // namespace weft::data
