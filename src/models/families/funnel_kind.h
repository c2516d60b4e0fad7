#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/section.h"
#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"
#include "models/weights/weight_map.h"

/// Parts of the definition of Funnel-Transformer: config.json and the names of tensors.
namespace weft::models::funnel_family {

inline constexpr int64_t kMostBlockLayers = 1024;

/// Sizes and rates of the published models.
ModelOptions defaults();
/// These blocks, and the number of layers that they have.
ModelOptions with_blocks(ModelOptions options,
                         std::vector<int64_t> sizes,
                         std::vector<int64_t> repeats = {});

const config::Choices<nn::TokenPoolingType>& pooling_types();

/// Calls `report` with the key and a message for sizes or repetitions of blocks that are not
/// possible.
void check_blocks(const FunnelOptions& own,
                  const std::function<void(const char* key, const std::string&)>& report);

void read_json(const JsonFields& fields, ModelOptions& options);
void write_json(formats::Json& json, const ModelOptions& options);

std::vector<StoredTensor> tensors(const ModelOptions& options);

}  // namespace weft::models::funnel_family
