#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"
#include "models/config/stack_keys.h"
#include "models/encoder.h"
#include "models/families/families.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models {

namespace {

using formats::Json;
using kernels::Activation;

constexpr int64_t kMostLanguages = 10'000;

/// Rows of the language table, which takes the place of other families' segment table.
int64_t language_rows(const XlmOptions& xlm) {
  return xlm.uses_language_embeddings && xlm.languages.size() > 1
             ? static_cast<int64_t>(xlm.languages.size())
             : 0;
}

ModelOptions xlm_defaults() {
  ModelOptions options;
  options.dim = 2048;
  options.heads = 16;
  options.width = 8192;
  options.type_vocab_size = 0;
  options.sequence_dropout = 0.1;
  options.span_dropout = 0;
  options.pad_id = 2;
  options.bos_id = 0;
  options.eos_id = 1;
  return options;
}

/// The languages of XNLI (arXiv:1809.05053).
ModelOptions xnli() {
  auto options = sized(xlm_defaults(), {12, 1024, 8});
  options.xlm.languages = {"ar", "bg", "de", "el", "en", "es", "fr", "hi",
                           "ru", "sw", "th", "tr", "ur", "vi", "zh"};
  options.type_vocab_size = language_rows(options.xlm);
  return options;
}

std::vector<Preset> xlm_presets() {
  return {{"xlm-mini", sized(xlm_defaults(), {4, 256, 4})},
          {"xlm-mlm-en-2048", sized(xlm_defaults(), {12, 2048, 16})},
          {"xlm-mlm-tlm-xnli15-1024", xnli()}};
}

void check_stack(config::Section& section, const ModelOptions& options) {
  if (section.is_documenting()) {
    return;
  }
  if (options.width != 4 * options.dim) {
    section.section("feed_forward", {.help = ""})
        .report("width", str_cat(options.width, ", must be 4 * dim for xlm, ", 4 * options.dim));
  }
  if (options.activation != Activation::kGelu && options.activation != Activation::kRelu) {
    section.section("feed_forward", {.help = ""})
        .report("activation", "is not supported by xlm, allowed is gelu, relu");
  }
}

void read_languages(config::Section& section, XlmOptions& xlm) {
  section.read(
      "languages", xlm.languages,
      {.help = "Languages of the model, in the order of their ids from 0. Data items select theirs "
               "with `language`. None or one: all texts have the same language."});
  section.read("use_lang_emb", xlm.uses_language_embeddings,
               {.help = "Language embeddings, added to every token."});
  const std::set<std::string> names(xlm.languages.begin(), xlm.languages.end());
  if (names.size() != xlm.languages.size() || names.contains("")) {
    section.report("languages", "each language must have a different name");
  }
}

void read_xlm_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& xlm = options.xlm;
  read_shared_model_keys(section, options, base, {.pooling = "cls", .has_sinusoids = true});
  read_early_exit(section, options);
  check_stack(section, options);
  read_languages(section, xlm);
  section.read("embed_init_std", xlm.embedding_init_std,
               {.help = "Standard deviation of the normal distribution that initialises "
                        "embeddings. null: dim ^ -0.5.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  require_unchanged(section, "languages", base == nullptr || xlm.languages == base->xlm.languages);
  require_unchanged(
      section, "use_lang_emb",
      base == nullptr || xlm.uses_language_embeddings == base->xlm.uses_language_embeddings);
  options.type_vocab_size = language_rows(xlm);
}

/// Language names by id; without names in the file, the numbers serve as names.
std::vector<std::string> languages_of(const JsonFields& fields) {
  int64_t count = 1;
  fields.read_size("n_langs", count, kMostLanguages);
  std::vector<std::string> names(static_cast<std::size_t>(count));
  if (!fields.has("lang2id")) {
    for (std::size_t id = 0; count > 1 && id < names.size(); ++id) {
      names[id] = std::to_string(id);
    }
    return count > 1 ? names : std::vector<std::string>{};
  }
  const auto& table = fields.at("lang2id");
  const JsonFields ids(table, fields.place() + ": lang2id");
  if (!table.is_object() || table.size() != names.size()) {
    fields.fail("lang2id", str_cat("must have ids for ", count, " languages (n_langs)"));
  }
  for (const auto& [name, value] : table.items()) {
    int64_t id = -1;
    ids.read(name, id, 0, count - 1);
    if (id < 0 || name.empty() || !names[static_cast<std::size_t>(id)].empty()) {
      fields.fail("lang2id", str_cat("each language must have its own id, found ",
                                     quoted_text(name), " with ", id));
    }
    names[static_cast<std::size_t>(id)] = name;
  }
  return names;
}

void refuse_xlm_foreign(const JsonFields& fields, bool classifies_sequences) {
  require(fields, "causal", false, "causal attention is not supported");
  require(fields, "asm", false, "adaptive softmax is not supported");
  require(fields, "is_encoder", true, "this family is an encoder");
  if (!classifies_sequences) {
    return;
  }
  std::string type = "first";
  fields.read("summary_type", type);
  if (type != "first") {
    fields.fail("summary_type", str_cat("found ", quoted_text(type), ", allowed is 'first'"));
  }
  require(fields, "summary_use_proj", true, "the classifier is the projection");
  require(fields, "summary_proj_to_labels", true, "the classifier is the projection");
  std::string activation;
  fields.read("summary_activation", activation);
  if (!activation.empty()) {
    fields.fail("summary_activation",
                str_cat("found ", quoted_text(activation), ", allowed is null"));
  }
  double dropout = 0;
  fields.read("summary_last_dropout", dropout, 0.0, 1.0);
  if (dropout > 0) {
    fields.fail("summary_last_dropout", str_cat("found ", dropout, ", allowed is 0"));
  }
}

void read_xlm_sizes(const JsonFields& fields, ModelOptions& options) {
  for (const auto* key : {"vocab_size", "n_words"}) {
    fields.read_size(key, options.vocabulary, kMostTokens);
  }
  for (const auto* key : {"hidden_size", "emb_dim"}) {
    fields.read_size(key, options.dim, kMostFeatures);
  }
  for (const auto* key : {"num_hidden_layers", "n_layers"}) {
    fields.read_size(key, options.layers, kMostLayers);
  }
  for (const auto* key : {"num_attention_heads", "n_heads"}) {
    fields.read_size(key, options.heads, kMostFeatures);
  }
  fields.read_size("max_position_embeddings", options.length, kMostTokens);
  options.width = 4 * options.dim;
  if (options.dim % options.heads != 0) {
    fields.fail("n_heads", str_cat(options.heads, " does not divide emb_dim ", options.dim));
  }
}

void read_xlm_arithmetic(const JsonFields& fields, ModelOptions& options) {
  bool is_gelu = true;
  fields.read("gelu_activation", is_gelu);
  options.activation = is_gelu ? Activation::kGelu : Activation::kRelu;
  fields.read("layer_norm_eps", options.norm_epsilon, 0.0, 1.0);
  fields.read("init_std", options.init_std, 0.0, 100.0);
  double init_std = 1 / std::sqrt(2048.0);  // default of an absent key, independent of emb_dim
  fields.read("embed_init_std", init_std, 0.0, 100.0);
  options.xlm.embedding_init_std = init_std;
  fields.read("dropout", options.dropout, 0.0, 1.0);
  fields.read("attention_dropout", options.attention_dropout, 0.0, 1.0);
  fields.read("summary_first_dropout", options.sequence_dropout, 0.0, 1.0);
  fields.read("sinusoidal_embeddings", options.has_sinusoidal_positions);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
}

void read_xlm_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, xlm_defaults());
  options.vocabulary = 30145;
  read_xlm_sizes(fields, options);
  read_xlm_arithmetic(fields, options);
  refuse_xlm_foreign(fields, head_of(options).classifies_sequences);
  fields.read("use_lang_emb", options.xlm.uses_language_embeddings);
  options.xlm.languages = languages_of(fields);
  options.type_vocab_size = language_rows(options.xlm);
  for (auto* id : {&options.pad_id, &options.bos_id, &options.eos_id}) {
    *id = std::min(*id, options.vocabulary - 1);
  }
  read_id(fields, "pad_index", options.pad_id, options.vocabulary);
  read_id(fields, "bos_index", options.bos_id, options.vocabulary);
  read_id(fields, "eos_index", options.eos_id, options.vocabulary);
  read_ids(fields, options);
}

double embedding_init_std(const ModelOptions& options) {
  return options.xlm.embedding_init_std.value_or(1 / std::sqrt(static_cast<double>(options.dim)));
}

void write_languages(Json& json, const XlmOptions& xlm) {
  json["n_langs"] = std::max<std::size_t>(1, xlm.languages.size());
  json["use_lang_emb"] = xlm.uses_language_embeddings;
  if (xlm.languages.empty()) {
    return;
  }
  for (std::size_t id = 0; id < xlm.languages.size(); ++id) {
    json["lang2id"][xlm.languages[id]] = id;
    json["id2lang"][std::to_string(id)] = xlm.languages[id];
  }
}

void write_xlm_json(Json& json, const ModelOptions& options) {
  json["vocab_size"] = options.vocabulary;
  json["emb_dim"] = options.dim;
  json["n_layers"] = options.layers;
  json["n_heads"] = options.heads;
  json["max_position_embeddings"] = options.length;
  json["gelu_activation"] = options.activation == Activation::kGelu;
  json["sinusoidal_embeddings"] = options.has_sinusoidal_positions;
  json["layer_norm_eps"] = options.norm_epsilon;
  json["init_std"] = options.init_std;
  json["embed_init_std"] = embedding_init_std(options);
  json["dropout"] = options.dropout;
  json["attention_dropout"] = options.attention_dropout;
  json["causal"] = false;
  json["asm"] = false;
  json["is_encoder"] = true;
  write_languages(json, options.xlm);
  json["summary_type"] = "first";
  json["summary_use_proj"] = true;
  json["summary_proj_to_labels"] = true;
  json["summary_activation"] = nullptr;
  json["summary_first_dropout"] = options.classifier_dropout.value_or(options.sequence_dropout);
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  write_ids(json, options);
}

void add_xlm_layer(WeightMapBuilder& builder,
                   const ModelOptions& options,
                   int64_t layer,
                   const std::string& prefix) {
  const int64_t dim = options.dim;
  const auto parameter = str_cat("layers.", layer, ".");
  const auto hf_name = [&](std::string_view list, std::string_view rest = "") {
    return str_cat(prefix, list, ".", layer, rest);
  };
  constexpr std::array kThirds = {".q_lin", ".k_lin", ".v_lin"};
  for (std::size_t third = 0; third < kThirds.size(); ++third) {
    builder.linear(parameter + "attention.qkv", hf_name("attentions", kThirds[third]),
                   {.inputs = dim, .outputs = dim, .first_row = static_cast<int64_t>(third) * dim});
  }
  builder.linear(parameter + "attention.output", hf_name("attentions", ".out_lin"),
                 {.inputs = dim, .outputs = dim});
  builder.norm(parameter + "attention_norm", hf_name("layer_norm1"), dim);
  builder.linear(parameter + "feed_forward.up", hf_name("ffns", ".lin1"),
                 {.inputs = dim, .outputs = options.width});
  builder.linear(parameter + "feed_forward.down", hf_name("ffns", ".lin2"),
                 {.inputs = options.width, .outputs = dim});
  builder.norm(parameter + "feed_forward_norm", hf_name("layer_norm2"), dim);
}

void add_xlm_head(WeightMapBuilder& builder, const ModelOptions& options) {
  const auto& head = head_of(options);
  if (head.predicts_tokens) {
    if (!options.tie_word_embeddings) {
      builder.table("head.decoder", "pred_layer.proj", {options.vocabulary, options.dim},
                    Part::kHead);
    }
    builder.result.push_back({.parameter = "head.bias",
                              .name = "pred_layer.proj.bias",
                              .shape = {options.vocabulary},
                              .part = Part::kHead});
  } else if (!head.is_bare) {
    const auto* name = head.classifies_sequences ? "sequence_summary.summary"
                       : head.classifies_tokens  ? "classifier"
                                                 : "qa_outputs";
    builder.linear("head.output", name,
                   {.inputs = options.dim, .outputs = head_outputs(options), .part = Part::kHead});
  }
}

std::vector<StoredTensor> xlm_tensors(const ModelOptions& options) {
  const int64_t dim = options.dim;
  const std::string prefix = head_of(options).is_bare ? "" : "transformer.";
  WeightMapBuilder builder;
  builder.table("embeddings.word", prefix + "embeddings", {options.vocabulary, dim});
  builder.table("embeddings.position", prefix + "position_embeddings", {options.length, dim});
  if (options.type_vocab_size > 0) {
    builder.table("embeddings.segment", prefix + "lang_embeddings", {options.type_vocab_size, dim});
  }
  builder.norm("embeddings.norm", prefix + "layer_norm_emb", dim);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    add_xlm_layer(builder, options, layer, prefix);
  }
  add_xlm_head(builder, options);
  return builder.result;
}

bool says_xlm_nothing(std::string_view name, const ModelOptions& options) {
  return name.ends_with("position_ids") ||
         (options.tie_word_embeddings && name == "pred_layer.proj.weight");
}

Initializer xlm_initial(const std::string& parameter, const ModelOptions& options) {
  if (parameter == "embeddings.position.weight" && options.has_sinusoidal_positions) {
    return {.kind = Initializer::Kind::kSinusoids};
  }
  const bool is_embedding = parameter.starts_with("embeddings.");
  return {.init_std = is_embedding ? embedding_init_std(options) : options.init_std,
          .zeroes_padding = parameter == "embeddings.word.weight"};
}

}  // namespace

FamilyDefinition xlm() {
  return {.name = "xlm",
          .hf_names = {{NormPlacement::kPost, "xlm", "transformer", "XLM"}},
          .heads = {{Head::kNone, "Model"},
                    {Head::kMaskedLm, "WithLMHeadModel"},
                    {Head::kSequence, "ForSequenceClassification"},
                    {Head::kToken, "ForTokenClassification"},
                    {Head::kSpan, "ForQuestionAnsweringSimple"}},
          .capabilities = {.has_pooler = false,
                           .has_language_ids = true,
                           .resets_positions = true,
                           .has_separate_head_dropouts = true,
                           .has_mlm_transform = false},
          .defaults = xlm_defaults,
          .presets = xlm_presets,
          .read_keys = read_xlm_keys,
          .read_json = read_xlm_json,
          .write_json = write_xlm_json,
          .generation_json = plain_generation_json,  // transformers can generate with its MLM head
          .tensors = xlm_tensors,
          .is_ignorable = says_xlm_nothing,
          .initializer = xlm_initial,
          .make = construct<Encoder>,
          .style = formats::TokenizerTemplate::kXlm};
}

}  // namespace weft::models
