#include "models/elmo.h"

#include <cmath>
#include <utility>

#include "base/string_util.h"
#include "models/config/component_json.h"
#include "models/config/component_keys.h"
#include "models/config/hf_config_fields.h"
#include "models/config/layer_type_keys.h"
#include "models/config/shared_model_keys.h"
#include "models/families/families.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models {

namespace {

using config::Section;
using formats::Json;

ModelOptions elmo_defaults() {
  auto options = layerless_defaults();
  options.dim = 512;
  options.layers = 2;
  options.dropout = 0.1;
  options.pad_id = 0;
  options.init_std = 0.05;
  options.tie_word_embeddings = false;
  options.elmo.cell = nn::default_component(nn::recurrent_cells(), "lstm");
  return options;
}

/// A published size, with an embedding of characters and clipped LSTMs.
ModelOptions elmo_size(int64_t projection, int64_t width, int64_t highways) {
  auto options = elmo_defaults();
  options.dim = 2 * projection;
  options.elmo.width = width;
  auto embedding = config::Document::parse(str_cat("{highways: ", highways, "}"), "elmo").root();
  options.layer_types.embedding =
      nn::read_component(embedding, nn::token_embeddings().at("characters"));
  auto cell =
      config::Document::parse(
          str_cat("{projection: ", projection, ", cell_clip: 3, projection_clip: 3}"), "elmo")
          .root();
  options.elmo.cell = nn::read_component(cell, nn::recurrent_cells().at("lstm"));
  return options;
}

std::vector<Preset> elmo_presets() {
  return {{"elmo", elmo_size(512, 4096, 2)},
          {"elmo-medium", elmo_size(256, 2048, 1)},
          {"elmo-small", elmo_size(128, 1024, 1)}};
}

/// Reads the type of a part and the keys of the type.
template <class Definition>
void read_part(Section& section,
               std::string_view key,
               const Registry<Definition>& registry,
               std::string_view help,
               std::optional<typename Definition::Choice>& choice) {
  auto name = choice->type;
  section.read_name(key, name, registry.names(), {.help = help, .suggests_nearest = true});
  if (section.is_documenting()) {
    nn::document_components(section, key, registry);
  } else {
    read_component_choice(section, registry, name, choice);
  }
}

/// Width of the cells' states after a projection.
int64_t state_width(const ModelOptions& options) {
  return options.elmo.cell
      ->make({.dim = elmo_direction_width(options), .width = elmo_cell_width(options)})
      ->state_width();
}

void check_elmo_keys(Section& section, const ModelOptions& options) {
  if (options.dim % 2 != 0) {
    section.report("dim", str_cat(options.dim, ", must be even: half of it for each direction"));
    return;
  }
  const auto width = elmo_direction_width(options);
  const auto found = state_width(options);
  if (found != width) {
    section.report("recurrent",
                   str_cat("the states of a direction have ", found, " features, must be ", width,
                           ", half of dim: set recurrent.projection: ", width,
                           " (of an lstm), or leave out recurrent.width"));
  }
}

void read_elmo_sizes(Section& section, ModelOptions& options) {
  section.read("dim", options.dim,
               {.help = "Width of the contextual vectors: half of it is of each direction, and is "
                        "the size of the token vectors.",
                .unit = "features",
                .range = config::between(2, 65536)});
  section.read("layers", options.layers,
               {.help = "Number of recurrent layers of each direction.",
                .unit = "layers",
                .range = config::between(1, 64)});
  section.read("dropout", options.dropout,
               {.help = "Dropout probability of token vectors and of the states of each layer.",
                .range = config::half_open(0, 1)});
  section.read("classifier_dropout", options.classifier_dropout,
               {.help = "Dropout probability before the classification head; null: dropout.",
                .range = config::half_open(0, 1)});
  section.read(
      "init_std", options.init_std,
      {.help = "Standard deviation of the normal distribution that initialises embeddings.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
}

void read_elmo_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& own = options.elmo;
  read_elmo_sizes(section, options);
  read_embedding_type(section, options, base);
  auto recurrent = section.section("recurrent", {.help = "The recurrent layers."});
  recurrent.read("width", own.width,
                 {.help = "Width of the recurrent states before a projection; 0: half of dim.",
                  .unit = "features",
                  .range = config::between(0, 65536)});
  read_part(recurrent, "cell", nn::recurrent_cells(), "Type of the recurrent cell.", own.cell);
  recurrent.read("residual", own.has_residuals,
                 {.help = "A residual connection around each recurrent layer but the first."});
  recurrent.reject_unread();
  section.read("normalize_layers", own.normalizes_layers,
               {.help = "Normalises the vectors of each layer before they are mixed (layer "
                        "normalisation without parameters)."});
  read_output_type(section.section("output", {.help = "The output layer of language models."}),
                   options.layer_types);
  read_pooling_type(section, "mean", options.layer_types);
  read_ties(section, options, base);
  if (base != nullptr) {
    require_unchanged(section, "dim", options.dim, base->dim);
    require_unchanged(section, "layers", options.layers, base->layers);
    require_unchanged(section, "recurrent",
                      own.cell == base->elmo.cell && own.width == base->elmo.width &&
                          own.has_residuals == base->elmo.has_residuals);
    require_unchanged(section, "output", options.layer_types.output == base->layer_types.output);
  }
  if (!section.is_documenting()) {
    check_elmo_keys(section, options);
  }
}

void read_stored_embedding(const JsonFields& fields, ModelOptions& options) {
  auto choice = component_from_json(fields.at("embedding"), fields.place() + ": embedding",
                                    nn::token_embeddings());
  if (choice.type != "words") {
    options.layer_types.embedding = std::move(choice);
  }
}

void read_elmo_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, elmo_defaults());
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (options.vocabulary == 0) {
    fields.fail("vocab_size", "missing, must be a number of tokens");
  }
  auto& own = options.elmo;
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_layers", options.layers, kMostLayers);
  fields.read("cell_width", own.width, 0, kMostFeatures);
  if (fields.has("cell")) {
    own.cell =
        component_from_json(fields.at("cell"), fields.place() + ": cell", nn::recurrent_cells());
  }
  if (fields.has("embedding")) {  // of files of earlier versions; now one of the layer types
    read_stored_embedding(fields, options);
  }
  if (options.dim % 2 != 0 || state_width(options) != elmo_direction_width(options)) {
    fields.fail("hidden_size",
                str_cat("found ", options.dim, ", must be twice the width of the cell's state"));
  }
  fields.read("residual", own.has_residuals);
  fields.read("normalize_layers", own.normalizes_layers);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
  fields.read("dropout", options.dropout, 0.0, 1.0);
  fields.read("classifier_dropout", options.classifier_dropout, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  read_ids(fields, options);
}

void write_elmo_json(Json& json, const ModelOptions& options) {
  const auto& own = options.elmo;
  json["vocab_size"] = options.vocabulary;
  json["hidden_size"] = options.dim;
  json["num_layers"] = options.layers;
  json["cell_width"] = own.width;
  json["cell"] = json_of_component(*own.cell);
  json["residual"] = own.has_residuals;
  json["normalize_layers"] = own.normalizes_layers;
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  json["dropout"] = options.dropout;
  if (options.classifier_dropout) {
    json["classifier_dropout"] = *options.classifier_dropout;
  }
  json["initializer_range"] = options.init_std;
  write_ids(json, options);
}

bool is_of_elmo_head(const std::string& parameter) {
  return parameter.starts_with("head.") || parameter.starts_with("mix") ||
         parameter.starts_with("output");
}

/// Without those of chosen types, which are added.
std::vector<StoredTensor> elmo_tensors(const ModelOptions& options) {
  auto plain = options;
  plain.layer_types = {};
  return tensors_by_name(Elmo(plain), is_of_elmo_head);
}

/// Tables and output matrices are normal, others as in torch::nn::LSTM.
Initializer elmo_initial(const std::string& parameter, const ModelOptions& options) {
  if (parameter.starts_with("layers.")) {
    return {.kind = Initializer::Kind::kUniform,
            .bound = 1 / std::sqrt(static_cast<double>(elmo_cell_width(options)))};
  }
  return {.init_std = options.init_std};
}

std::vector<std::pair<std::string, std::string>> describe_elmo(const ModelOptions& options) {
  return {{"layers", str_cat(options.layers, " of ", options.elmo.cell->type,
                             " in each direction, width ", elmo_cell_width(options))},
          {"vectors",
           str_cat(options.dim, ", of ",
                   options.layer_types.embedding ? options.layer_types.embedding->type : "words")}};
}

}  // namespace

FamilyDefinition elmo() {
  return {.name = "elmo",
          .hf_names = {{NormPlacement::kPost, "weft-elmo", "", "WeftElmo"}},
          .heads = {{Head::kNone, "Model"},
                    {Head::kBidirectionalLm, "ForBidirectionalLM"},
                    {Head::kSequence, "ForSequenceClassification"},
                    {Head::kToken, "ForTokenClassification"}},
          .capabilities = {.has_pooler = false, .has_segments = false, .default_lr = 1e-3},
          .defaults = elmo_defaults,
          .presets = elmo_presets,
          .read_keys = read_elmo_keys,
          .read_json = read_elmo_json,
          .write_json = write_elmo_json,
          .tensors = elmo_tensors,
          .initializer = elmo_initial,
          .make = construct<Elmo>,
          .style = formats::TokenizerTemplate::kBosEos,
          .describe = describe_elmo};
}

}  // namespace weft::models
