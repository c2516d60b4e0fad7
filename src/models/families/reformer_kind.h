#pragma once

#include <cstdint>
#include <vector>

#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"
#include "models/weights/weight_map.h"

/// Parts of the family `reformer`: config.json and the names of its tensors.
namespace weft::models::reformer_family {

inline constexpr int64_t kMostChunk = 1 << 20;
inline constexpr int64_t kMostNeighbours = 64;
inline constexpr int64_t kMostRounds = 64;
inline constexpr int64_t kMostSeed = int64_t{1} << 53;
inline constexpr auto kLocal = "local";
inline constexpr auto kHashed = "lsh";

/// One of the published models, with other heads.
ModelOptions defaults();

void read_json(const JsonFields& fields, ModelOptions& options);
void write_json(formats::Json& json, const ModelOptions& options);
std::vector<StoredTensor> tensors(const ModelOptions& options);

/// Whether these can be the factors of a number of buckets.
bool are_even(const std::vector<int64_t>& buckets);

}  // namespace weft::models::reformer_family
