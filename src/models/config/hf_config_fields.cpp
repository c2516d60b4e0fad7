#include "models/config/hf_config_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/heads.h"

namespace weft::models {

using formats::Json;
using kernels::RotaryScalingType;

namespace {

using NamedScaling = std::pair<std::string_view, RotaryScalingType>;
constexpr std::array<NamedScaling, 5> kScalings{{{"default", RotaryScalingType::kNone},
                                                 {"linear", RotaryScalingType::kLinear},
                                                 {"dynamic", RotaryScalingType::kDynamic},
                                                 {"llama3", RotaryScalingType::kLlama3},
                                                 {"yarn", RotaryScalingType::kYarn}}};

/// Whether the scaling of a feature pair depends on its wavelength.
bool depends_on_wavelength(RotaryScalingType scaling) {
  return scaling == RotaryScalingType::kLlama3 || scaling == RotaryScalingType::kYarn;
}

/// Keys of RotaryScaling's low and high frequency factors.
std::pair<const char*, const char*> frequency_factor_keys(bool is_yarn) {
  return is_yarn ? std::pair("beta_slow", "beta_fast")
                 : std::pair("low_freq_factor", "high_freq_factor");
}

constexpr double kMost = 1e12;

/// Returns the value with the name `found`; `names`: pairs of names and values. Throws
/// formats::Error.
template <class Names>
auto value_of_name(const JsonFields& fields,
                   std::string_view key,
                   std::string_view found,
                   const Names& names) {
  std::vector<std::string> allowed;
  for (const auto& [name, value] : names) {
    if (name == found) {
      return value;
    }
    allowed.emplace_back(name);
  }
  fields.fail(key, "found " + quoted_text(found) + ", allowed is " + join(allowed));
}

}  // namespace

ModelOptions apply_named(const ModelOptions& named, ModelOptions defaults) {
  defaults.family = named.family;
  defaults.head = named.head;
  defaults.norm_placement = named.norm_placement;
  return defaults;
}

void read_activation(const JsonFields& fields,
                     std::string_view key,
                     kernels::Activation& activation) {
  if (!fields.has(key)) {
    return;
  }
  std::string found;
  fields.read(key, found);
  activation = value_of_name(fields, key, found, hf_activation_names());
}

void read_stack_sizes(const JsonFields& fields, ModelOptions& options) {
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_hidden_layers", options.layers, kMostLayers);
  fields.read_size("num_attention_heads", options.heads, kMostFeatures);
  fields.read_size("intermediate_size", options.width, kMostFeatures);
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
}

void require_divisible_heads(const JsonFields& fields, const ModelOptions& options) {
  if (options.dim % options.heads != 0) {
    fields.fail("num_attention_heads",
                str_cat(options.heads, " does not divide hidden_size ", options.dim));
  }
}

void read_id(const JsonFields& fields,
             std::string_view key,
             int64_t& id,
             int64_t vocabulary,
             int64_t least) {
  if (fields.is_null(key)) {
    id = -1;
  } else if (fields.has(key) && fields.at(key).is_array()) {
    const auto& list = fields.at(key);
    const bool is_fine = !list.empty() && list[0].is_number_integer();
    id = is_fine ? list[0].get<int64_t>() : vocabulary;
    if (id < 0 || id >= vocabulary) {
      fields.fail(key, str_cat("must be a list of ids from 0 to ", vocabulary - 1));
    }
  } else {
    fields.read(key, id, least, vocabulary - 1);
  }
}

void read_ids(const JsonFields& fields, ModelOptions& options) {
  // A bos or eos id beyond the vocabulary counts as none: files keep the defaults of transformers'
  // classes even if the vocabulary was made smaller.
  const auto read_end = [&](std::string_view key, int64_t& id) {
    if (fields.has(key) && fields.at(key).is_number_integer() &&
        fields.at(key) >= options.vocabulary) {
      id = -1;
    } else {
      read_id(fields, key, id, options.vocabulary);
    }
  };
  read_id(fields, "pad_token_id", options.pad_id, options.vocabulary);
  read_end("bos_token_id", options.bos_id);
  read_end("eos_token_id", options.eos_id);
}

Json id_or_null(int64_t id) { return id < 0 ? Json(nullptr) : Json(id); }

void write_ids(Json& json, const ModelOptions& options) {
  json["pad_token_id"] = id_or_null(options.pad_id);
  json["bos_token_id"] = id_or_null(options.bos_id);
  json["eos_token_id"] = id_or_null(options.eos_id);
}

Json plain_generation_json(const ModelOptions& options) {
  if (!head_of(options).predicts_tokens) {
    return nullptr;
  }
  Json json = {{"_from_model_config", true}};
  write_ids(json, options);
  return json;
}

void require(const JsonFields& fields, std::string_view key, bool wanted, std::string_view why) {
  bool found = wanted;
  fields.read(key, found);
  if (found != wanted) {
    fields.fail(key, str_cat("found ", found ? "true" : "false", ", allowed is ",
                             wanted ? "true" : "false", ": ", why));
  }
}

namespace {

/// Returns the factor of cosines and sines: as given, or by arXiv:2309.00071, equation 22.
double read_attention_factor(const JsonFields& rope, double factor) {
  std::optional<double> given;
  rope.read("attention_factor", given, 1e-3, kMost);
  std::optional<double> above;
  std::optional<double> below;
  rope.read("mscale", above, 0.0, kMost);
  rope.read("mscale_all_dim", below, 0.0, kMost);
  const auto growth = [&](double share) { return 0.1 * share * std::log(factor) + 1; };
  const bool has_both = above.value_or(0) > 0 && below.value_or(0) > 0;
  return given.value_or(has_both ? growth(*above) / growth(*below) : growth(1));
}

void read_rope_scaling(const JsonFields& rope, ModelOptions& options) {
  auto& rope_scaling = options.rope.scaling;
  std::string type = "default";
  rope.read("type", type);
  rope.read("rope_type", type);
  rope_scaling.type = value_of_name(rope, "rope_type", type, kScalings);
  if (rope_scaling.type == RotaryScalingType::kNone) {
    return;
  }
  rope.read("factor", rope_scaling.factor, 1.0, kMost);
  if (!depends_on_wavelength(rope_scaling.type)) {
    return;
  }
  rope_scaling.original_max_positions = options.length;
  rope.read("original_max_position_embeddings", rope_scaling.original_max_positions, 1,
            kMostTokens);
  const bool is_yarn = rope_scaling.type == RotaryScalingType::kYarn;
  const auto [low, high] = frequency_factor_keys(is_yarn);
  rope_scaling.high_frequency_factor = is_yarn ? 32 : 4;
  rope.read(low, rope_scaling.low_frequency_factor, 1e-3, kMost);
  rope.read(high, rope_scaling.high_frequency_factor, 1e-3, kMost);
  if (rope_scaling.high_frequency_factor <= rope_scaling.low_frequency_factor) {
    rope.fail(high, str_cat("must be above ", low));
  }
  if (is_yarn) {
    rope.read("truncate", rope_scaling.truncates);
    rope_scaling.attention_factor = read_attention_factor(rope, rope_scaling.factor);
  }
}

}  // namespace

void read_rope(const JsonFields& fields, ModelOptions& options) {
  fields.read("rope_theta", options.rope.theta, 1.0, kMost);
  fields.read("rotary_emb_base", options.rope.theta, 1.0, kMost);
  fields.read("partial_rotary_factor", options.rope.partial_factor, 0.0, 1.0 + 1e-9);
  fields.read("rotary_pct", options.rope.partial_factor, 0.0, 1.0 + 1e-9);
  const std::string key = fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!fields.has(key)) {
    return;
  }
  if (!fields.at(key).is_object()) {
    fields.fail(key, "must be an object");
  }
  const JsonFields rope(fields.at(key), fields.place() + ": " + key);
  rope.read("rope_theta", options.rope.theta, 1.0, kMost);
  rope.read("partial_rotary_factor", options.rope.partial_factor, 0.0, 1.0 + 1e-9);
  read_rope_scaling(rope, options);
}

Json rope_json(const ModelOptions& options) {
  Json rope = {{"rope_theta", options.rope.theta}, {"rope_type", "default"}};
  if (options.rope.partial_factor < 1) {
    rope["partial_rotary_factor"] = options.rope.partial_factor;
  }
  const auto& rope_scaling = options.rope.scaling;
  if (rope_scaling.type == RotaryScalingType::kNone) {
    return rope;
  }
  rope["rope_type"] = std::ranges::find(kScalings, rope_scaling.type, &NamedScaling::second)->first;
  rope["factor"] = rope_scaling.factor;
  if (!depends_on_wavelength(rope_scaling.type)) {
    return rope;
  }
  const bool is_yarn = rope_scaling.type == RotaryScalingType::kYarn;
  const auto [low, high] = frequency_factor_keys(is_yarn);
  rope[low] = rope_scaling.low_frequency_factor;
  rope[high] = rope_scaling.high_frequency_factor;
  rope["original_max_position_embeddings"] = rope_scaling.original_max_positions;
  if (is_yarn) {
    rope["truncate"] = rope_scaling.truncates;
    rope["attention_factor"] = rope_scaling.attention_factor;
  }
  return rope;
}

}  // namespace weft::models
