#pragma once

#include <memory>

#include "models/config/options.h"
#include "nn/document/document_encoder.h"

namespace weft::models {

/// The document encoder of a model that has one (ModelOptions::document). Its layers are as those
/// of the model, with attention and positions of their own.
std::shared_ptr<nn::DocumentEncoder> make_document_encoder(const ModelOptions& options);

}  // namespace weft::models
