#include "models/stack_json.h"

#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "models/family.h"

namespace weft::models {

using formats::Json;

namespace {

std::string quote(std::string_view word) { return "'" + std::string(word.substr(0, 80)) + "'"; }

constexpr double kMost = 1e12;

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
  std::vector<std::string> allowed;
  for (const auto& [name, value] : stored_activations()) {
    if (name == found) {
      activation = value;
      return;
    }
    allowed.emplace_back(name);
  }
  fields.fail(key, "found " + quote(found) + ", allowed is " + join(allowed));
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

Json causal_generation_json(const ModelOptions& options) {
  if (options.head != Head::kCausalLm) {
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
  std::string type = "default";
  rope.read("type", type);
  rope.read("rope_type", type);
  if (type == "default") {
    return;
  }
  if (type != "linear" && type != "llama3") {
    rope.fail("rope_type", "found " + quote(type) + ", allowed is default, linear, llama3");
  }
  decoder.rotary_scaling = type == "linear" ? RotaryScaling::kLinear : RotaryScaling::kLlama3;
  rope.read("factor", decoder.rotary_factor, 1.0, kMost);
  if (decoder.rotary_scaling == RotaryScaling::kLlama3) {
    rope.read("low_freq_factor", decoder.rotary_low, 1e-3, kMost);
    rope.read("high_freq_factor", decoder.rotary_high, 1e-3, kMost);
    rope.read("original_max_position_embeddings", decoder.rotary_original, 1, kMostTokens);
    if (decoder.rotary_high <= decoder.rotary_low) {
      rope.fail("high_freq_factor", "must be above low_freq_factor");
    }
  }
}

Json rotary_json(const ModelOptions& options) {
  const auto& decoder = options.decoder;
  Json rope = {{"rope_theta", options.modern.theta}, {"rope_type", "default"}};
  if (decoder.rotary_share < 1) {
    rope["partial_rotary_factor"] = decoder.rotary_share;
  }
  if (decoder.rotary_scaling == RotaryScaling::kNone) {
    return rope;
  }
  const bool is_linear = decoder.rotary_scaling == RotaryScaling::kLinear;
  rope["rope_type"] = is_linear ? "linear" : "llama3";
  rope["factor"] = decoder.rotary_factor;
  if (!is_linear) {
    rope["low_freq_factor"] = decoder.rotary_low;
    rope["high_freq_factor"] = decoder.rotary_high;
    rope["original_max_position_embeddings"] = decoder.rotary_original;
  }
  return rope;
}

}  // namespace weft::models
