#pragma once

#include "nn/position/position.h"

namespace weft::nn {

/// Type `shaw`: learned vectors of the distance between query and key, up to a limit, that are
/// added to the key in the scores and to the value (arXiv:1803.02155). All heads of a layer share
/// them, or with `share_layers` all layers.
PositionMaker read_shaw_position(config::Section& section);

/// Type `transformer_xl`: scores (q + u) . k + (q + w) . (W r), where r is the sinusoid of the
/// distance (arXiv:1901.02860, section 3.3). u, w and W belong to the layer.
PositionMaker read_transformer_xl_position(config::Section& section);

}  // namespace weft::nn
