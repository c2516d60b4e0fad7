#include "models/config/stack_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "models/config/family.h"

namespace weft::models {

using formats::Json;
using kernels::RotaryScaling;

namespace {

using NamedScaling = std::pair<std::string_view, RotaryScaling>;
constexpr std::array<NamedScaling, 5> kScalings{{{"default", RotaryScaling::kNone},
                                                 {"linear", RotaryScaling::kLinear},
                                                 {"dynamic", RotaryScaling::kDynamic},
                                                 {"llama3", RotaryScaling::kLlama3},
                                                 {"yarn", RotaryScaling::kYarn}}};

/// Whether a plane's turns decide how it is stretched.
bool has_turns(RotaryScaling scaling) {
  return scaling == RotaryScaling::kLlama3 || scaling == RotaryScaling::kYarn;
}

/// Of RotaryStretch::low and high.
std::pair<const char*, const char*> turn_keys(bool is_yarn) {
  return is_yarn ? std::pair("beta_slow", "beta_fast")
                 : std::pair("low_freq_factor", "high_freq_factor");
}

std::string stack_json_quote(std::string_view word) {
  return "'" + std::string(word.substr(0, 80)) + "'";
}

constexpr double kMost = 1e12;

/// What the name that the key has stands for; `names`: pairs of names and values. Throws
/// formats::Error.
template <class Names>
auto meant(const JsonFields& fields,
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
  fields.fail(key, "found " + stack_json_quote(found) + ", allowed is " + join(allowed));
}

}  // namespace

ModelOptions begun(const ModelOptions& named, ModelOptions defaults) {
  defaults.head = named.head;
  defaults.norm_place = named.norm_place;
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
  activation = meant(fields, key, found, stored_activations());
}

void read_stack_sizes(const JsonFields& fields, ModelOptions& options) {
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_hidden_layers", options.layers, kMostLayers);
  fields.read_size("num_attention_heads", options.heads, kMostFeatures);
  fields.read_size("intermediate_size", options.width, kMostFeatures);
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
}

void demand_whole_heads(const JsonFields& fields, const ModelOptions& options) {
  if (options.dim % options.heads != 0) {
    fields.fail("num_attention_heads",
                text(options.heads, " does not divide hidden_size ", options.dim));
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
      fields.fail(key, text("a list of ids from 0 to ", vocabulary - 1, " is expected"));
    }
  } else {
    fields.read(key, id, least, vocabulary - 1);
  }
}

void read_ids(const JsonFields& fields, ModelOptions& options) {
  // A begin or end beyond the vocabulary is none: what a class of transformers begins with stays in
  // its files though the vocabulary was made smaller.
  const auto read_end = [&](std::string_view key, int64_t& id) {
    if (fields.has(key) && fields.at(key).is_number_integer() &&
        fields.at(key) >= options.vocabulary) {
      id = -1;
    } else {
      read_id(fields, key, id, options.vocabulary);
    }
  };
  read_id(fields, "pad_token_id", options.pad_id, options.vocabulary);
  read_end("bos_token_id", options.begin_id);
  read_end("eos_token_id", options.end_id);
}

Json id_or_null(int64_t id) { return id < 0 ? Json(nullptr) : Json(id); }

void write_ids(Json& json, const ModelOptions& options) {
  json["pad_token_id"] = id_or_null(options.pad_id);
  json["bos_token_id"] = id_or_null(options.begin_id);
  json["eos_token_id"] = id_or_null(options.end_id);
}

Json plain_generation_json(const ModelOptions& options) {
  if (options.head != Head::kCausalLm && options.head != Head::kMaskedLm) {
    return nullptr;
  }
  Json json = {{"_from_model_config", true}};
  write_ids(json, options);
  return json;
}

void demand(const JsonFields& fields, std::string_view key, bool wanted, std::string_view why) {
  bool found = wanted;
  fields.read(key, found);
  if (found != wanted) {
    fields.fail(key, text("found ", found ? "true" : "false", ", allowed is ",
                          wanted ? "true" : "false", ": ", why));
  }
}

namespace {

/// -> factor of cosines and sines: given, or as arXiv:2309.00071, equation 22, has it.
double read_strength(const JsonFields& rope, double factor) {
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

void read_stretch(const JsonFields& rope, ModelOptions& options) {
  auto& stretch = options.decoder.rotary_stretch;
  std::string type = "default";
  rope.read("type", type);
  rope.read("rope_type", type);
  stretch.scaling = meant(rope, "rope_type", type, kScalings);
  if (stretch.scaling == RotaryScaling::kNone) {
    return;
  }
  rope.read("factor", stretch.factor, 1.0, kMost);
  if (!has_turns(stretch.scaling)) {
    return;
  }
  stretch.original = options.length;
  rope.read("original_max_position_embeddings", stretch.original, 1, kMostTokens);
  const bool is_yarn = stretch.scaling == RotaryScaling::kYarn;
  const auto [low, high] = turn_keys(is_yarn);
  stretch.high = is_yarn ? 32 : 4;
  rope.read(low, stretch.low, 1e-3, kMost);
  rope.read(high, stretch.high, 1e-3, kMost);
  if (stretch.high <= stretch.low) {
    rope.fail(high, text("must be above ", low));
  }
  if (is_yarn) {
    rope.read("truncate", stretch.has_whole_planes);
    stretch.strength = read_strength(rope, stretch.factor);
  }
}

}  // namespace

void read_rotary(const JsonFields& fields, ModelOptions& options) {
  auto& decoder = options.decoder;
  fields.read("rope_theta", options.modern.theta, 1.0, kMost);
  fields.read("rotary_emb_base", options.modern.theta, 1.0, kMost);
  fields.read("partial_rotary_factor", decoder.rotary_share, 0.0, 1.0 + 1e-9);
  fields.read("rotary_pct", decoder.rotary_share, 0.0, 1.0 + 1e-9);
  const std::string key = fields.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!fields.has(key)) {
    return;
  }
  if (!fields.at(key).is_object()) {
    fields.fail(key, "an object is expected");
  }
  const JsonFields rope(fields.at(key), fields.place() + ": " + key);
  rope.read("rope_theta", options.modern.theta, 1.0, kMost);
  rope.read("partial_rotary_factor", decoder.rotary_share, 0.0, 1.0 + 1e-9);
  read_stretch(rope, options);
}

Json rotary_json(const ModelOptions& options) {
  const auto& decoder = options.decoder;
  Json rope = {{"rope_theta", options.modern.theta}, {"rope_type", "default"}};
  if (decoder.rotary_share < 1) {
    rope["partial_rotary_factor"] = decoder.rotary_share;
  }
  const auto& stretch = decoder.rotary_stretch;
  if (stretch.scaling == RotaryScaling::kNone) {
    return rope;
  }
  rope["rope_type"] = std::ranges::find(kScalings, stretch.scaling, &NamedScaling::second)->first;
  rope["factor"] = stretch.factor;
  if (!has_turns(stretch.scaling)) {
    return rope;
  }
  const bool is_yarn = stretch.scaling == RotaryScaling::kYarn;
  const auto [low, high] = turn_keys(is_yarn);
  rope[low] = stretch.low;
  rope[high] = stretch.high;
  rope["original_max_position_embeddings"] = stretch.original;
  if (is_yarn) {
    rope["truncate"] = stretch.has_whole_planes;
    rope["attention_factor"] = stretch.strength;
  }
  return rope;
}

}  // namespace weft::models
