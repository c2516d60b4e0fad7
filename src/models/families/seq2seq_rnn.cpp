#include "models/seq2seq_rnn/seq2seq_rnn.h"

#include <cmath>
#include <utility>

#include "base/string_util.h"
#include "models/config/choice_json.h"
#include "models/config/component_json.h"
#include "models/config/component_keys.h"
#include "models/config/hf_config_fields.h"
#include "models/config/layer_type_keys.h"
#include "models/config/shared_model_keys.h"
#include "models/encoder_decoder_parts.h"
#include "models/families/families.h"
#include "models/weights/weight_map_builder.h"
#include "nn/attention/scores/score_functions.h"
#include "nn/recurrent/local_window.h"

namespace weft::models {

namespace {

using config::Section;
using formats::Json;

const config::Choices<bool> kWhens = {{"before", false}, {"after", true}};
const config::Choices<nn::Coverage> kCoverages = {{"none", nn::Coverage::kNone},
                                                  {"sum", nn::Coverage::kSum},
                                                  {"fertility", nn::Coverage::kFertility}};
const config::Choices<Readout> kReadouts = {{"maxout", Readout::kMaxout}, {"tanh", Readout::kTanh}};
constexpr auto kNoScore = "none";
constexpr auto kNoWindow = "none";

ModelOptions seq2seq_rnn_defaults() {
  auto options = layerless_defaults();
  options.dim = 256;
  options.dropout = 0.2;
  options.pad_id = 0;
  options.init_std = 0.05;
  options.decoder.layers = 1;
  options.seq2seq_rnn.cell = nn::default_component(nn::recurrent_cells(), "gru");
  options.seq2seq_rnn.score = nn::default_component(nn::score_functions(), "additive");
  return options;
}

/// The model of arXiv:1409.0473, appendix A.2.
ModelOptions rnnsearch() {
  auto options = seq2seq_rnn_defaults();
  options.dim = 620;
  options.seq2seq_rnn.hidden = 1000;
  options.tie_word_embeddings = false;
  options.decoder.share_encoder_decoder_embeddings = false;
  auto section = config::Document::parse("{reset: before}", "rnnsearch").root();
  options.seq2seq_rnn.cell = nn::read_component(section, nn::recurrent_cells().at("gru"));
  return options;
}

/// The model of arXiv:1508.04025, section 4.1.
ModelOptions luong() {
  auto options = seq2seq_rnn_defaults();
  options.dim = 1000;
  options.layers = options.decoder.layers = 4;
  options.tie_word_embeddings = false;
  options.decoder.share_encoder_decoder_embeddings = false;
  auto& own = options.seq2seq_rnn;
  own.hidden = 1000;
  own.is_bidirectional = false;
  own.cell = nn::default_component(nn::recurrent_cells(), "lstm");
  own.score = nn::default_component(nn::score_functions(), "general");
  own.attends_after = true;
  own.has_input_feeding = true;
  return options;
}

std::vector<Preset> seq2seq_rnn_presets() {
  return {{"rnnsearch-50", rnnsearch()}, {"luong-attention", luong()}};
}

void read_rnn_sizes(Section& section, ModelOptions& options) {
  section.read("dim", options.dim,
               {.help = "Size of the word embeddings and of the features before the output matrix.",
                .unit = "features",
                .range = config::between(1, 65536)});
  section.read(
      "layers", options.layers,
      {.help = "Number of encoder layers.", .unit = "layers", .range = config::between(1, 64)});
  if (section.has("layers")) {
    options.decoder.layers = options.layers;
  }
  auto decoder = section.section("decoder", {.help = "Decoder stack."});
  decoder.read("layers", options.decoder.layers,
               {.help = "Number of decoder layers. Default: same as the encoder.",
                .unit = "layers",
                .range = config::between(1, 64)});
  decoder.reject_unread();
  section.read("dropout", options.dropout,
               {.help = "Dropout probability of embeddings, between layers, and of the features "
                        "before the output matrix.",
                .range = config::half_open(0, 1)});
  section.read(
      "init_std", options.init_std,
      {.help = "Standard deviation of the normal distribution that initialises embeddings.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
}

void read_rnn_cell(Section section, ModelOptions& options) {
  auto& own = options.seq2seq_rnn;
  const auto& registry = nn::recurrent_cells();
  auto name = own.cell->type;
  section.read_name("cell", name, registry.names(),
                    {.help = "Type of the recurrent cell.", .suggests_nearest = true});
  section.read("width", own.hidden,
               {.help = "Width of the recurrent states.",
                .unit = "features",
                .range = config::between(1, 65536)});
  section.read("bidirectional", own.is_bidirectional,
               {.help = "The encoder also reads each source from its end."});
  section.read("residual", own.has_residuals,
               {.help = "A residual connection around each recurrent layer but the first."});
  if (section.is_documenting()) {
    nn::document_components(section, "cell", registry);
    return;
  }
  read_component_choice(section, registry, name, own.cell);
  if (own.has_residuals && options.layers == 1 && options.decoder.layers == 1) {
    section.report("residual", "has no effect with one layer, needs layers: 2 or more");
  }
  section.reject_unread();
}

void read_rnn_score(Section& section, Seq2SeqRnnOptions& own) {
  const auto& registry = nn::score_functions();
  auto names = registry.names();
  names.emplace_back(kNoScore);
  std::string name = own.score ? own.score->type : kNoScore;
  section.read_name("score", name, names,
                    {.help = "Score function of the attention to the source: additive (Bahdanau), "
                             "dot, scaled_dot, general (Luong), location. none: no attention, the "
                             "decoder reads the last states of the encoder.",
                     .suggests_nearest = true});
  if (section.is_documenting()) {
    nn::document_components(section, "score", registry);
    return;
  }
  if (name == kNoScore) {
    own.score.reset();
    return;
  }
  read_component_choice(section, registry, name, own.score);
}

void read_rnn_window(Section& section, Seq2SeqRnnOptions& own) {
  const auto& registry = nn::local_windows();
  auto names = registry.names();
  names.emplace_back(kNoWindow);
  std::string name = own.local ? own.local->type : kNoWindow;
  section.read_name("local", name, names,
                    {.help = "Local attention, to a window of the source (arXiv:1508.04025, "
                             "section 3.2). monotonic: around the token at the position of the "
                             "target token (local-m). predictive: around a position that each step "
                             "predicts (local-p). none: attention to the whole source.",
                     .suggests_nearest = true});
  if (section.is_documenting()) {
    nn::document_components(section, "local", registry);
    return;
  }
  if (name == kNoWindow) {
    own.local.reset();
    return;
  }
  read_component_choice(section, registry, name, own.local);
}

void read_rnn_attention(Section section, ModelOptions& options) {
  auto& own = options.seq2seq_rnn;
  read_rnn_score(section, own);
  section.read_choice("when", own.attends_after, kWhens,
                      {.help = "before: the context is an input of the decoder's step (Bahdanau). "
                               "after: it follows the step (Luong)."});
  section.read(
      "input_feeding", own.has_input_feeding,
      {.help = "The features of the step before are an input, too.", .only_if = "when: after"});
  section.read_choice("coverage", own.coverage, kCoverages,
                      {.help = "Tells the attention how much it has attended to each source token. "
                               "sum: the sum of the weights so far. fertility: divided by the "
                               "predicted number of target tokens.",
                       .only_if = "score: additive"});
  read_rnn_window(section, own);
  if (section.is_documenting()) {
    return;
  }
  if (own.has_input_feeding && !own.attends_after) {
    section.report("input_feeding", "has no effect with when: before, only with when: after");
  }
  if (own.attends_after && !own.score) {
    section.report("when", "after has no effect with score: none, must be before");
  }
  if (own.coverage != nn::Coverage::kNone && (!own.score || own.score->type != "additive")) {
    section.report("coverage", "is only possible with score: additive");
  }
  if (own.local && !own.score) {
    section.report("local", str_cat(own.local->type, " has no effect with score: none"));
  }
  const auto state_width = own.cell->make({.dim = options.dim, .width = own.hidden})->state_width();
  const bool is_dot = own.score && (own.score->type == "dot" || own.score->type == "scaled_dot");
  if (is_dot && own.is_bidirectional) {
    section.report("score", str_cat(own.score->type,
                                    " needs encoder and decoder states of the "
                                    "same width, found ",
                                    2 * state_width, " and ", state_width,
                                    ": use general, or recurrent.bidirectional: false"));
  }
  section.reject_unread();
}

void read_seq2seq_rnn_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  auto& own = options.seq2seq_rnn;
  read_rnn_sizes(section, options);
  read_rnn_cell(section.section("recurrent", {.help = "The recurrent layers."}), options);
  read_rnn_attention(section.section("attention", {.help = "The attention of the decoder."}),
                     options);
  section.read_choice("readout", own.readout, kReadouts,
                      {.help = "Layer before the output matrix.", .only_if = "when: before"});
  if (own.attends_after && section.has("readout")) {
    section.report("readout", "has no effect with attention.when: after, whose features are tanh");
  }
  read_embedding_type(section, options, base);
  read_output_type(section.section("output", {.help = "The output layer of language models."}),
                   options.layer_types);
  read_ties(section, options, base);
  section.read("share_encoder_decoder_embeddings", options.decoder.share_encoder_decoder_embeddings,
               {.help = "Shares the word embeddings between encoder and decoder."});
  if (base != nullptr) {
    require_unchanged(section, "dim", options.dim, base->dim);
    require_unchanged(section, "layers", options.layers, base->layers);
    require_unchanged(section, "decoder", options.decoder == base->decoder);
    require_unchanged(section, "recurrent", own == base->seq2seq_rnn);
    require_unchanged(section, "output", options.layer_types == base->layer_types);
  }
}

void read_seq2seq_rnn_json(const JsonFields& fields, ModelOptions& options) {
  options = apply_named(options, seq2seq_rnn_defaults());
  fields.read_size("vocab_size", options.vocabulary, kMostTokens);
  if (options.vocabulary == 0) {
    fields.fail("vocab_size", "missing, must be a number of tokens");
  }
  auto& own = options.seq2seq_rnn;
  fields.read_size("source_vocab_size", options.decoder.source_vocabulary, kMostTokens);
  fields.read_size("embedding_size", options.dim, kMostFeatures);
  fields.read_size("encoder_layers", options.layers, kMostLayers);
  fields.read_size("decoder_layers", options.decoder.layers, kMostLayers);
  fields.read_size("hidden_size", own.hidden, kMostFeatures);
  fields.read("bidirectional", own.is_bidirectional);
  if (fields.has("cell")) {
    own.cell =
        component_from_json(fields.at("cell"), fields.place() + ": cell", nn::recurrent_cells());
  }
  own.score.reset();
  if (fields.has("score")) {
    own.score =
        component_from_json(fields.at("score"), fields.place() + ": score", nn::score_functions());
  }
  own.local.reset();
  if (fields.has("local")) {
    own.local =
        component_from_json(fields.at("local"), fields.place() + ": local", nn::local_windows());
  }
  fields.read("residual", own.has_residuals);
  read_choice_word(fields, "attention", kWhens, own.attends_after);
  fields.read("input_feeding", own.has_input_feeding);
  read_choice_word(fields, "coverage", kCoverages, own.coverage);
  read_choice_word(fields, "readout", kReadouts, own.readout);
  fields.read("tie_word_embeddings", options.tie_word_embeddings);
  fields.read("share_encoder_decoder_embeddings", options.decoder.share_encoder_decoder_embeddings);
  fields.read("dropout", options.dropout, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  read_ids(fields, options);
  read_decoding_ids(fields, options);
}

void write_seq2seq_rnn_json(Json& json, const ModelOptions& options) {
  const auto& own = options.seq2seq_rnn;
  json["vocab_size"] = options.vocabulary;
  if (options.decoder.source_vocabulary > 0) {
    json["source_vocab_size"] = options.decoder.source_vocabulary;
  }
  json["embedding_size"] = options.dim;
  json["encoder_layers"] = options.layers;
  json["decoder_layers"] = options.decoder.layers;
  json["hidden_size"] = own.hidden;
  json["bidirectional"] = own.is_bidirectional;
  json["cell"] = json_of_component(*own.cell);
  json["score"] = own.score ? json_of_component(*own.score) : Json(nullptr);
  json["local"] = own.local ? json_of_component(*own.local) : Json(nullptr);
  json["residual"] = own.has_residuals;
  json["attention"] = choice_word(kWhens, own.attends_after);
  json["input_feeding"] = own.has_input_feeding;
  json["coverage"] = choice_word(kCoverages, own.coverage);
  json["readout"] = choice_word(kReadouts, own.readout);
  json["tie_word_embeddings"] = options.tie_word_embeddings;
  json["share_encoder_decoder_embeddings"] = options.decoder.share_encoder_decoder_embeddings;
  json["dropout"] = options.dropout;
  json["initializer_range"] = options.init_std;
  json["is_encoder_decoder"] = true;
  write_ids(json, options);
  write_decoding_ids(json, options);
}

/// Without those of chosen types, which are added.
std::vector<StoredTensor> seq2seq_rnn_tensors(const ModelOptions& options) {
  auto plain = options;
  plain.layer_types = {};
  return tensors_by_name(Seq2SeqRnn(plain), [](const std::string& parameter) {
    return parameter == "output" || parameter == "output_bias";
  });
}

/// Embeddings are normal; other matrices uniform, as in torch::nn::GRU.
Initializer seq2seq_rnn_initial(const std::string& parameter, const ModelOptions& options) {
  if (parameter.starts_with("source_words") || parameter.starts_with("target_words") ||
      parameter == "output" || parameter.starts_with("output_layer.")) {
    return {.init_std = options.init_std};
  }
  return {.kind = Initializer::Kind::kUniform,
          .bound = 1 / std::sqrt(static_cast<double>(options.seq2seq_rnn.hidden))};
}

std::vector<std::pair<std::string, std::string>> describe_seq2seq_rnn(const ModelOptions& options) {
  const auto& own = options.seq2seq_rnn;
  return {{"layers", str_cat(options.layers, own.is_bidirectional ? " bidirectional" : "", " and ",
                             options.decoder.layers, " of ", own.cell->type, ", width ", own.hidden,
                             own.has_residuals ? ", residual" : "")},
          {"embeddings", str_cat(options.dim)},
          {"attention", own.score
                            ? str_cat(own.score->type, ", ", choice_word(kWhens, own.attends_after),
                                      " the step", own.has_input_feeding ? ", input feeding" : "",
                                      own.local ? ", local " + own.local->type : "")
                            : "none"}};
}

}  // namespace

FamilyDefinition seq2seq_rnn() {
  return {.name = "seq2seq_rnn",
          .hf_names = {{NormPlacement::kPost, "weft-seq2seq-rnn", "", "WeftSeq2SeqRnn"}},
          .heads = {{Head::kConditional, "ForConditionalGeneration"}},
          .capabilities = {.has_pooler = false, .has_segments = false},
          .defaults = seq2seq_rnn_defaults,
          .presets = seq2seq_rnn_presets,
          .read_keys = read_seq2seq_rnn_keys,
          .read_json = read_seq2seq_rnn_json,
          .write_json = write_seq2seq_rnn_json,
          .generation_json = encoder_decoder_generation,
          .tensors = seq2seq_rnn_tensors,
          .initializer = seq2seq_rnn_initial,
          .make = construct<Seq2SeqRnn>,
          .style = formats::TokenizerTemplate::kEosOnly,
          .describe = describe_seq2seq_rnn,
          .is_encoder_decoder = true};
}

}  // namespace weft::models
