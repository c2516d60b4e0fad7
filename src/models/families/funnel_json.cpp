#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/families/funnel_kind.h"

namespace weft::models::funnel_family {

namespace {

using formats::Json;
using nn::TokenPoolingType;

constexpr int64_t kMostBlocks = 16;

/// Values of absent config.json keys.
ModelOptions absent_funnel() {
  auto options = defaults();
  options.vocabulary = 30522;
  options.head_dim = 64;
  options.pad_id = -1;
  options.funnel.is_factorized = false;
  return options;
}

void read_block_list(const JsonFields& fields, std::string_view key, std::vector<int64_t>& values) {
  if (!fields.has(key)) {
    return;
  }
  const auto& given = fields.at(key);
  const bool is_list = given.is_array() && std::ranges::all_of(given, [](const Json& each) {
                         return each.is_number_integer();
                       });
  if (!is_list) {
    fields.fail(key, "must be a list of numbers");
  }
  values = given.get<std::vector<int64_t>>();
}

template <class Choice>
void read_word(const JsonFields& fields,
               std::string_view key,
               const config::Choices<Choice>& choices,
               Choice& value) {
  std::string word;
  fields.read(key, word);
  const auto found = std::ranges::find(choices, word, [](const auto& each) { return each.first; });
  if (found != choices.end()) {
    value = found->second;
  } else if (!word.empty()) {
    fields.fail(key, str_cat("found ", quoted_text(word), ", allowed are ", choices.front().first,
                             " and ", choices.back().first));
  }
}

const config::Choices<bool>& attention_forms() {
  static const config::Choices<bool> kForms = {{"relative_shift", false}, {"factorized", true}};
  return kForms;
}

void read_funnel_blocks(const JsonFields& fields, ModelOptions& options) {
  auto& own = options.funnel;
  read_block_list(fields, "block_sizes", own.block_sizes);
  read_block_list(fields, "block_repeats", own.block_repeats);
  check_blocks(own,
               [&](const char* key, const std::string& message) { fields.fail(key, message); });
  if (std::ranges::all_of(own.block_repeats, [](int64_t times) { return times == 1; })) {
    own.block_repeats.clear();
  }
  options.layers = encoder_layers(own);
  fields.read("num_decoder_layers", own.decoder_layers, int64_t{0}, kMostBlockLayers);
  read_word(fields, "pooling_type", pooling_types(), own.pooling.type);
  read_word(fields, "attention_type", attention_forms(), own.is_factorized);
  fields.read("separate_cls", own.pooling.separate_cls);
  fields.read("truncate_seq", own.pooling.truncate_seq);
  fields.read("pool_q_only", own.pool_q_only);
}

}  // namespace

ModelOptions with_blocks(ModelOptions options,
                         std::vector<int64_t> sizes,
                         std::vector<int64_t> repeats) {
  options.funnel.block_sizes = std::move(sizes);
  options.funnel.block_repeats = std::move(repeats);
  options.layers = encoder_layers(options.funnel);
  return options;
}

ModelOptions defaults() {
  ModelOptions options;
  options.type_vocab_size = 3;  // the first token has a type of its own
  options.activation = kernels::Activation::kGeluTanh;
  options.norm_epsilon = 1e-9;
  return with_blocks(std::move(options), {4, 4, 4});
}

const config::Choices<TokenPoolingType>& pooling_types() {
  static const config::Choices<TokenPoolingType> kTypes = {{"mean", TokenPoolingType::kMean},
                                                           {"max", TokenPoolingType::kMax}};
  return kTypes;
}

void check_blocks(const FunnelOptions& own,
                  const std::function<void(const char* key, const std::string&)>& report) {
  const auto check = [&](const char* key, const std::vector<int64_t>& values) {
    const bool fits = std::ranges::all_of(
        values, [](int64_t value) { return value >= 1 && value <= kMostBlockLayers; });
    if (values.empty() || std::ssize(values) > kMostBlocks || !fits) {
      report(key, str_cat("must be a list of 1 to ", kMostBlocks, " numbers from 1 to ",
                          kMostBlockLayers));
      return false;
    }
    return true;
  };
  const auto& repeats = own.block_repeats;
  if (!check("block_sizes", own.block_sizes) ||
      (!repeats.empty() && !check("block_repeats", repeats))) {
    return;
  }
  if (!repeats.empty() && repeats.size() != own.block_sizes.size()) {
    report("block_repeats", str_cat("found ", repeats.size(), " numbers, must be ",
                                    own.block_sizes.size(), ", one for each block"));
  } else if (encoder_layers(own) > kMostBlockLayers) {
    report("block_sizes", str_cat("make ", encoder_layers(own), " layers, at most ",
                                  kMostBlockLayers, " are allowed"));
  }
}

void read_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, absent_funnel());
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  for (const auto* key : {"hidden_size", "d_model"}) {
    fields.read_size(key, options.dim, kMostFeatures);
  }
  for (const auto* key : {"num_attention_heads", "n_head"}) {
    fields.read_size(key, options.heads, kMostFeatures);
  }
  fields.read_size("d_head", options.head_dim, kMostFeatures);
  if (options.head_dim * options.heads == options.dim) {
    options.head_dim = 0;
  }
  fields.read_size("d_inner", options.width, kMostFeatures);
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
  if (options.dim % 2 != 0) {
    fields.fail("d_model", str_cat(options.dim, " is odd, sinusoids need an even width"));
  }
  read_funnel_blocks(fields, options);
  read_activation(fields, "hidden_act", options.activation);
  fields.read("layer_norm_eps", options.norm_epsilon, 0.0, 1.0);
  fields.read("initializer_range", options.funnel.initializer_range, 0.0, 100.0);
  fields.read("initializer_std", options.init_std, 0.0, 100.0);
  fields.read("hidden_dropout", options.dropout, 0.0, 1.0);
  fields.read("attention_dropout", options.attention_dropout, 0.0, 1.0);
  fields.read("activation_dropout", options.activation_dropout, 0.0, 1.0);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
  read_ids(fields, options);
}

void write_json(Json& json, const ModelOptions& options) {
  const auto& own = options.funnel;
  json["vocab_size"] = options.vocabulary;
  json["d_model"] = options.dim;
  json["n_head"] = options.heads;
  json["d_head"] = head_dim(options);
  json["d_inner"] = options.width;
  json["max_position_embeddings"] = options.length;
  json["type_vocab_size"] = options.type_vocab_size;
  json["block_sizes"] = own.block_sizes;
  json["block_repeats"] = own.block_repeats.empty()
                              ? std::vector<int64_t>(own.block_sizes.size(), 1)
                              : own.block_repeats;
  json["num_decoder_layers"] = own.decoder_layers;
  json["pooling_type"] = own.pooling.type == TokenPoolingType::kMean ? "mean" : "max";
  json["attention_type"] = own.is_factorized ? "factorized" : "relative_shift";
  json["separate_cls"] = own.pooling.separate_cls;
  json["truncate_seq"] = own.pooling.truncate_seq;
  json["pool_q_only"] = own.pool_q_only;
  json["hidden_act"] = hf_activation_name(options.activation);
  json["layer_norm_eps"] = options.norm_epsilon;
  json["initializer_range"] = own.initializer_range;
  json["initializer_std"] = options.init_std;
  json["hidden_dropout"] = options.dropout;
  json["attention_dropout"] = options.attention_dropout;
  json["activation_dropout"] = options.activation_dropout;
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  write_ids(json, options);
}

}  // namespace weft::models::funnel_family
