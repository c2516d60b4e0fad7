#pragma once

#include <cstdint>
#include <string_view>

#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// Readings of config.json that families share.
namespace weft::models {

inline constexpr int64_t kMostFeatures = 1 << 20;
inline constexpr int64_t kMostLayers = 10'000;
inline constexpr int64_t kMostTokens = int64_t{1} << 28;  // of a vocabulary, or of a sequence

/// What absent keys mean, with the head and the norm place that config.json has named.
ModelOptions begun(const ModelOptions& named, ModelOptions defaults);

/// One of the activations of transformers by its name; the default is what `activation` holds.
void read_activation(const JsonFields& fields,
                     std::string_view key,
                     kernels::Activation& activation);

/// Sizes under the names that most config classes have for them.
void read_stack_sizes(const JsonFields& fields, ModelOptions& options);
void demand_whole_heads(const JsonFields& fields, const ModelOptions& options);

/// An id, the first of a list of ids, or null: none. So does -1 say, unless `least` is 0.
void read_id(const JsonFields& fields,
             std::string_view key,
             int64_t& id,
             int64_t vocabulary,
             int64_t least = -1);

/// pad_token_id, bos_token_id and eos_token_id; the latter two are none beyond the vocabulary.
void read_ids(const JsonFields& fields, ModelOptions& options);
void write_ids(formats::Json& json, const ModelOptions& options);
formats::Json id_or_null(int64_t id);

/// Throws where the key has another value than the only one that is computed here.
void demand(const JsonFields& fields, std::string_view key, bool wanted, std::string_view why);

/// generation_config.json with the special ids alone, of a model whose head gives words; else null.
formats::Json plain_generation_json(const ModelOptions& options);

/// rope_parameters of transformers 5, or rope_theta and rope_scaling of 4.
void read_rotary(const JsonFields& fields, ModelOptions& options);
formats::Json rotary_json(const ModelOptions& options);

}  // namespace weft::models
