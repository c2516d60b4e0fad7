#pragma once

#include <cstdint>
#include <string>

#include "models/config/family_definition.h"
#include "models/weights/weight_map_builder.h"

/// Shared parts of T5 and the families that differ little from it.
namespace weft::models::t5_family {

ModelOptions defaults();

/// Adds the feed-forward tensors of a layer, whose names begin with `parameter` and `hf_name`.
/// Layers of the decoder are numbered after those of the encoder.
using FeedForwardTensors = void (*)(WeightMapBuilder& builder,
                                    const ModelOptions& options,
                                    int64_t layer,
                                    const std::string& parameter,
                                    const std::string& hf_name);

/// With T5's defaults, keys and config.json; presets are set by the family.
FamilyDefinition definition(const HfNames& hf_names, FeedForwardTensors add_feed_forward);

}  // namespace weft::models::t5_family
