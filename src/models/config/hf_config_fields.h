#pragma once

#include <cstdint>
#include <string_view>

#include "formats/json.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"

/// Readers of config.json fields that families share.
namespace weft::models {

inline constexpr int64_t kMostFeatures = 1 << 20;
inline constexpr int64_t kMostLayers = 10'000;
inline constexpr int64_t kMostTokens = int64_t{1} << 28;  // of a vocabulary, or of a sequence

/// Returns `defaults` with the family, the head and the norm placement that config.json has named.
ModelOptions apply_named(const ModelOptions& named, ModelOptions defaults);

/// Reads a transformers activation name; the default is the current value of `activation`.
void read_activation(const JsonFields& fields,
                     std::string_view key,
                     kernels::Activation& activation);

/// Reads sizes under the names that most config classes use.
void read_stack_sizes(const JsonFields& fields, ModelOptions& options);
void require_divisible_heads(const JsonFields& fields, const ModelOptions& options);

/// Reads an id, the first of a list of ids, or null (none). -1 means none too, unless `least` is 0.
void read_id(const JsonFields& fields,
             std::string_view key,
             int64_t& id,
             int64_t vocabulary,
             int64_t least = -1);

/// pad_token_id, bos_token_id and eos_token_id; bos and eos beyond the vocabulary count as none.
void read_ids(const JsonFields& fields, ModelOptions& options);
void write_ids(formats::Json& json, const ModelOptions& options);
formats::Json id_or_null(int64_t id);

/// Throws where the key differs from the only supported value.
void require(const JsonFields& fields, std::string_view key, bool wanted, std::string_view why);

/// generation_config.json with special ids only, for heads that generate tokens; else null.
formats::Json plain_generation_json(const ModelOptions& options);

/// Reads rope_parameters of transformers 5, or rope_theta and rope_scaling of version 4.
void read_rope(const JsonFields& fields, ModelOptions& options);
formats::Json rope_json(const ModelOptions& options);

}  // namespace weft::models
