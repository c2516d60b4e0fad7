#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/model.h"

namespace weft::models {

/// A shallower copy of the model that has only these layers, in increasing order from 0: what
/// training with LayerDrop prepares it for (arXiv:1909.11556, section 3.3). An empty list keeps
/// all layers. `decoder_layers`: of the decoder of an encoder-decoder, of which `layers` are those
/// of the encoder. Throws UserError.
std::shared_ptr<Model> prune_layers(const Model& model,
                                    const std::vector<int64_t>& layers,
                                    const std::vector<int64_t>& decoder_layers = {});

}  // namespace weft::models
