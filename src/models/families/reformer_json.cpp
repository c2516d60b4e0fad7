#include <algorithm>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/hf_config_fields.h"
#include "models/families/reformer_kind.h"
#include "models/reformer.h"

namespace weft::models::reformer_family {

bool are_even(const std::vector<int64_t>& buckets) {
  return buckets.size() <= 8 && std::ranges::all_of(buckets, [](int64_t factor) {
           return factor >= 2 && factor <= kMostChunk && factor % 2 == 0;
         });
}

namespace {

using formats::Json;

/// Values of absent config.json keys.
ModelOptions absent_reformer() {
  auto options = defaults();
  options.vocabulary = 320;
  options.heads = 12;
  options.eos_id = 2;
  options.reformer.axial_shape = {64, 64};
  options.reformer.axial_dims = {64, 192};
  return options;
}

std::vector<int64_t> read_numbers(const JsonFields& fields, const char* key) {
  const auto& given = fields.at(key);
  std::vector<int64_t> numbers;
  for (const auto& each : given.is_array() ? given : Json::array({given})) {
    const auto number = each.is_number_integer() ? each.get<int64_t>() : 0;
    if (number < 1 || number > kMostTokens) {
      fields.fail(key, str_cat("found ", printable(given.dump()),
                               ", must be whole numbers from 1 to ", kMostTokens));
    }
    numbers.push_back(number);
  }
  return numbers;
}

void read_json_layers(const JsonFields& fields, ModelOptions& options) {
  if (!fields.has("attn_layers")) {
    return;
  }
  auto& hashed = options.reformer.hashed_layers;
  hashed.clear();
  for (const auto& each : fields.at("attn_layers")) {
    if (each != kLocal && each != kHashed) {
      fields.fail("attn_layers",
                  str_cat("found ", printable(each.dump()), ", allowed are \"local\" and \"lsh\""));
    }
    hashed.push_back(each == kHashed);
  }
  options.layers = std::ssize(hashed);
  if (hashed.empty() || options.layers > kMostLayers) {
    fields.fail("attn_layers",
                str_cat("has ", hashed.size(), " layers, allowed are 1 to ", kMostLayers));
  }
}

void read_json_chunks(const JsonFields& fields,
                      const std::string& kind,
                      ReformerChunkOptions& chunks) {
  fields.read_size(kind + "_attn_chunk_length", chunks.length, kMostChunk);
  fields.read(kind + "_num_chunks_before", chunks.before, 0, kMostNeighbours);
  fields.read(kind + "_num_chunks_after", chunks.after, 0, kMostNeighbours);
}

void read_json_positions(const JsonFields& fields, ModelOptions& options) {
  auto& own = options.reformer;
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
  bool is_axial = true;
  fields.read("axial_pos_embds", is_axial);
  fields.read("axial_norm_std", own.axial_init_std, 0.0, 100.0);
  if (!is_axial) {
    own.axial_shape.clear();
    own.axial_dims.clear();
    return;
  }
  if (fields.has("axial_pos_shape")) {
    own.axial_shape = read_numbers(fields, "axial_pos_shape");
  }
  if (fields.has("axial_pos_embds_dim")) {
    own.axial_dims = read_numbers(fields, "axial_pos_embds_dim");
  }
  if (own.axial_shape.size() != 2 || own.axial_dims.size() != 2) {
    fields.fail("axial_pos_shape", "must be two numbers, as axial_pos_embds_dim");
  }
  if (own.axial_dims[0] + own.axial_dims[1] != options.dim) {
    fields.fail("axial_pos_embds_dim", str_cat("must add up to hidden_size ", options.dim));
  }
  options.length = std::min(options.length, own.axial_shape[0] * own.axial_shape[1]);
}

void read_json_hashes(const JsonFields& fields, ModelOptions& options) {
  auto& own = options.reformer;
  fields.read("num_hashes", own.rounds, 1, kMostRounds);
  if (fields.has("num_buckets")) {
    own.buckets = read_numbers(fields, "num_buckets");
    if (!are_even(own.buckets)) {
      fields.fail("num_buckets", "must be up to 8 even numbers");
    }
  }
  if (fields.has("hash_seed")) {
    int64_t seed = 0;
    fields.read("hash_seed", seed, 0, kMostSeed);
    own.seed = seed;
  }
}

}  // namespace

void read_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, absent_reformer());
  auto& own = options.reformer;
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_attention_heads", options.heads, kMostFeatures);
  fields.read_size("attention_head_size", options.head_dim, kMostFeatures);
  fields.read_size("feed_forward_size", options.width, kMostFeatures);
  read_json_layers(fields, options);
  read_json_chunks(fields, kLocal, own.local);
  read_json_chunks(fields, kHashed, own.hashed);
  read_json_hashes(fields, options);
  read_json_positions(fields, options);
  read_activation(fields, "hidden_act", options.activation);
  fields.read("hidden_dropout_prob", options.dropout, 0.0, 1.0);
  fields.read("local_attention_probs_dropout_prob", options.attention_dropout, 0.0, 1.0);
  fields.read("lsh_attention_probs_dropout_prob", own.hashed_dropout, 0.0, 1.0);
  fields.read("classifier_dropout", options.classifier_dropout, 0.0, 1.0);
  fields.read("layer_norm_eps", options.norm_epsilon, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  fields.read("chunk_size_feed_forward", own.feed_forward_chunk, 0, kMostTokens);
  fields.read("is_decoder", own.is_causal);
  require(fields, "tie_word_embeddings", false, "the states are wider than the embeddings");
  read_ids(fields, options);
}

namespace {

void write_json_chunks(Json& json,
                       const std::string& kind,
                       const ReformerChunkOptions& chunks,
                       bool is_causal) {
  json[kind + "_attn_chunk_length"] = chunks.length;
  json[kind + "_num_chunks_before"] = chunks.before;
  json[kind + "_num_chunks_after"] = is_causal ? 0 : chunks.after;
}

void write_json_hashes(Json& json, const ReformerOptions& own) {
  json["num_hashes"] = own.rounds;
  json["num_buckets"] = own.buckets.empty()       ? Json(nullptr)
                        : own.buckets.size() == 1 ? Json(own.buckets[0])
                                                  : Json(own.buckets);
  json["hash_seed"] = own.seed ? Json(*own.seed) : Json(nullptr);
}

}  // namespace

void write_json(Json& json, const ModelOptions& options) {
  const auto& own = options.reformer;
  const bool is_causal = is_causal_reformer(options);
  json["vocab_size"] = options.vocabulary;
  json["hidden_size"] = options.dim;
  json["num_attention_heads"] = options.heads;
  json["attention_head_size"] = head_dim(options);
  json["feed_forward_size"] = options.width;
  json["attn_layers"] = Json::array();
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    json["attn_layers"].push_back(is_hashed_layer(options, layer) ? kHashed : kLocal);
  }
  write_json_chunks(json, kLocal, own.local, is_causal);
  write_json_chunks(json, kHashed, own.hashed, is_causal);
  write_json_hashes(json, own);
  json["max_position_embeddings"] = options.length;
  json["axial_pos_embds"] = !own.axial_shape.empty();
  if (!own.axial_shape.empty()) {
    json["axial_pos_shape"] = own.axial_shape;
    json["axial_pos_embds_dim"] = own.axial_dims;
  }
  json["axial_norm_std"] = own.axial_init_std;
  json["hidden_act"] = hf_activation_name(options.activation);
  json["hidden_dropout_prob"] = options.dropout;
  json["local_attention_probs_dropout_prob"] = options.attention_dropout;
  json["lsh_attention_probs_dropout_prob"] = own.hashed_dropout;
  json["classifier_dropout"] =
      options.classifier_dropout ? Json(*options.classifier_dropout) : Json(nullptr);
  json["layer_norm_eps"] = options.norm_epsilon;
  json["initializer_range"] = options.init_std;
  json["chunk_size_feed_forward"] = own.feed_forward_chunk;
  json["is_decoder"] = is_causal;
  json["tie_word_embeddings"] = false;
  write_ids(json, options);
}

}  // namespace weft::models::reformer_family
