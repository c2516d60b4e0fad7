#include <string_view>
#include <utility>

#include "base/string_util.h"
#include "models/config/component_json.h"
#include "models/config/component_keys.h"
#include "models/config/family_definition.h"
#include "models/config/layer_type_keys.h"
#include "models/config/shared_model_keys.h"
#include "models/config/stack_keys.h"
#include "nn/attention/attention.h"
#include "nn/document/document_encoder.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/position/position.h"
#include "nn/sublayer.h"

namespace weft::models {

namespace {

using config::Section;
using formats::Json;

constexpr auto kDocumentKey = "document";
constexpr auto kNoDocument = "none";
constexpr auto kLayersOfDocument = "layers";
constexpr auto kSentences = "sentences";
constexpr auto kSentenceLength = "sentence_length";
constexpr auto kDecoderLayers = "decoder_layers";
constexpr auto kSentenceVector = "sentence_vector";
constexpr auto kDocumentPooling = "pooling";
constexpr auto kDocumentAttention = "attention";
constexpr auto kDocumentPosition = "position";
constexpr auto kEncoder = "encoder";                 // in config.json only
constexpr auto kDocumentLayerTypes = "layer_types";  // likewise
constexpr auto kDefaultPosition = "learned";
constexpr auto kDefaultAttention = "full";
constexpr int64_t kMostDocumentLayers = 1024;
constexpr int64_t kMostSentences = 4096;
constexpr int64_t kMostSentenceTokens = 4096;

/// What documents cannot be combined with; empty: nothing.
std::string document_obstacle(const ModelOptions& options) {
  const auto& types = options.layer_types;
  if (options.family->attention) {
    return str_cat("model.type: ", word_of(options.family));
  }
  if (options.early_exit) {
    return "early_exit";
  }
  if (types.halting) {
    return "halting";
  }
  if (types.mix) {
    return "mix";
  }
  if (has_reversible_layers(options)) {
    return "residual.type: reversible";
  }
  if (nn::shortens_sequences(types.block)) {
    return "layers that shorten the texts";
  }
  if (carries_state(types) || carries_state(options.document->types)) {
    return "layers that carry a state from step to step";
  }
  if (draws_at_random(types) || draws_at_random(options.document->types)) {
    return "attention that draws keys at random";
  }
  return "";
}

/// Why the document encoder does not go with this number of layers; empty: it does.
std::string layers_error(const DocumentOptions& own, int64_t layers) {
  const auto error = nn::document_encoders().at(own.encoder.type).error;
  const auto reason = error == nullptr ? std::string() : error(own.encoder.keys, layers);
  return reason.empty() ? reason : str_cat(own.encoder.type, " ", reason);
}

/// Whether the classifier pools tokens otherwise than the model that it starts from, or the family.
bool has_own_pooling(const ModelOptions& options, const ModelOptions* base) {
  return base == nullptr ? options.layer_types.pooling || options.uses_mean_pooling
                         : options.layer_types.pooling != base->layer_types.pooling ||
                               options.uses_mean_pooling != base->uses_mean_pooling;
}

void check_document(Section& section, const ModelOptions& options) {
  const auto& own = *options.document;
  if (const auto obstacle = document_obstacle(options); !obstacle.empty()) {
    section.fail("type", str_cat("is not possible with ", obstacle));
  }
  const auto wrong = layers_error(own, options.layers);
  if (!wrong.empty()) {
    section.fail("type", wrong);
  }
  const auto limit = position_limit(options);
  if (limit > 0 && own.sentence_length > limit) {
    section.fail(kSentenceLength, str_cat(own.sentence_length, ", must be at most the ", limit,
                                          " of model.position.length"));
  }
}

void read_document_sizes(Section& section, DocumentOptions& own) {
  section.read(kLayersOfDocument, own.layers,
               {.help = "Layers over the sentences of a document, as wide as those of the model. "
                        "0: none.",
                .unit = "layers",
                .range = config::between(0, kMostDocumentLayers)});
  section.read(kSentences, own.sentences,
               {.help = "Maximum number of sentences of a document; further ones are left out.",
                .unit = "sentences",
                .range = config::between(1, kMostSentences)});
  section.read(kSentenceLength, own.sentence_length,
               {.help = "Maximum length of a sentence in tokens, including special tokens; longer "
                        "ones are truncated.",
                .unit = "tokens",
                .range = config::between(4, kMostSentenceTokens)});
  section.read(kDecoderLayers, own.decoder_layers,
               {.help = "Layers of the decoder that predicts masked sentences, as wide as those of "
                        "the model.",
                .unit = "layers",
                .range = config::between(1, kMostDocumentLayers),
                .only_if = "objective.type: masked_sentence"});
}

void read_document_pooling(Section& section,
                           const char* key,
                           std::string_view help,
                           std::string_view published,
                           std::optional<nn::SequencePoolingDefinition::Choice>& choice) {
  const auto& registry = nn::sequence_poolings();
  std::string name = choice ? choice->type : std::string(published);
  section.read_name(key, name, registry.names(), {.help = help, .suggests_nearest = true});
  if (section.is_documenting()) {
    nn::document_components(section, key, registry);
  } else {
    read_component_choice(section, registry, name, choice);
  }
}

void read_document_types(Section& section, DocumentOptions& own) {
  LayerPartSection attention(section, kDocumentAttention,
                             {.help = "The attention between the sentences of a document."});
  read_attention_types(attention,
                       {.family_types = {kDefaultAttention},
                        .default_type = kDefaultAttention,
                        .layers = own.layers,
                        .help = "Which sentences a sentence attends to: all, or another attention "
                                "type."},
                       own.types);
  attention.shared().reject_unread();
  LayerPartSection position(section, kDocumentPosition,
                            {.help = "Positions of the sentences in a document."});
  read_position_types(position, kDefaultPosition, own.types);
  if (section.is_documenting()) {
    for (const auto& definition : nn::position_types().all()) {
      definition.read(position.shared());
    }
  }
  position.shared().reject_unread();
}

void read_document_parts(Section& section,
                         const nn::DocumentEncoderDefinition& definition,
                         DocumentOptions& own) {
  read_document_sizes(section, own);
  read_document_pooling(section, kSentenceVector,
                        "Pooling of the tokens of a sentence. Default: last for hibert, attention "
                        "for hi_transformer.",
                        definition.sentence_vector, own.sentence_vector);
  read_document_pooling(section, kDocumentPooling,
                        "Pooling of the sentences of a document. Default: mean for hibert, "
                        "attention for hi_transformer.",
                        definition.pooling, own.pooling);
  read_document_types(section, own);
}

std::string read_document_type(Section& section, const ModelOptions& options) {
  std::string type = options.document ? options.document->encoder.type : kNoDocument;
  section.read_name("type", type, type_names(nn::document_encoders(), {kNoDocument}),
                    {.help = "How documents are read: sentence by sentence, then an encoder over "
                             "the vectors of the sentences (hibert, arXiv:1905.06566), or both in "
                             "turns (hi_transformer, arXiv:2106.01040). none: as one text.",
                     .suggests_nearest = true});
  return type;
}

}  // namespace

void read_document(Section& model, ModelOptions& options, const ModelOptions* base) {
  auto section = model.section(
      kDocumentKey, {.help = "Reads each sentence of a text by itself, and then the text as a "
                             "sequence of sentences (classification and regression of texts, tags "
                             "of their sentences, and masked sentences)."});
  const auto type = read_document_type(section, options);
  if (section.is_documenting()) {
    nn::document_components(section, "type", nn::document_encoders());
    DocumentOptions own;
    read_document_parts(section, nn::document_encoders().all().front(), own);
  } else if (type == kNoDocument) {
    options.document.reset();
    for (const auto* key :
         {kLayersOfDocument, kSentences, kSentenceLength, kDecoderLayers, kSentenceVector,
          kDocumentPooling, kDocumentAttention, kDocumentPosition}) {
      section.reject_unused(key, "has no effect without document.type");
    }
  } else {
    std::optional<nn::DocumentEncoderChoice> encoder;
    if (options.document) {
      encoder = options.document->encoder;
    }
    read_component_choice(section, nn::document_encoders(), type, encoder);
    auto own = options.document.value_or(DocumentOptions());
    own.encoder = std::move(*encoder);
    read_document_parts(section, nn::document_encoders().at(type), own);
    options.document = std::move(own);
    if (has_own_pooling(options, base)) {
      model.fail("classifier_pooling", "has no effect with document.type; set document.pooling");
    }
    options.layer_types.pooling.reset();  // of a classifier that init_from names
    check_document(section, options);
  }
  section.reject_unread();
  if (base != nullptr && base->document) {
    require_unchanged(model, kDocumentKey, options.document == base->document);
  }
}

void read_document(const Json& json, const std::string& place, ModelOptions& options) {
  if (!json.contains(kDocumentKey)) {
    return;
  }
  const auto where = str_cat(place, ": ", kDocumentKey);
  const JsonFields fields(json.at(kDocumentKey), where);
  for (const auto* key : {kEncoder, kSentenceVector, kDocumentPooling, kDocumentLayerTypes}) {
    if (!fields.has(key)) {
      fields.fail(key, "missing");
    }
  }
  DocumentOptions own;
  own.encoder = component_from_json(fields.at(kEncoder), where, nn::document_encoders());
  fields.read(kLayersOfDocument, own.layers, 0, kMostDocumentLayers);
  fields.read(kSentences, own.sentences, 1, kMostSentences);
  fields.read(kSentenceLength, own.sentence_length, 1, kMostSentenceTokens);
  fields.read(kDecoderLayers, own.decoder_layers, 1, kMostDocumentLayers);
  own.sentence_vector =
      component_from_json(fields.at(kSentenceVector), where, nn::sequence_poolings());
  own.pooling = component_from_json(fields.at(kDocumentPooling), where, nn::sequence_poolings());
  own.types = read_layer_types(fields.at(kDocumentLayerTypes), where);
  if (const auto wrong = layers_error(own, options.layers); !wrong.empty()) {
    fields.fail(kEncoder, wrong);
  }
  options.document = std::move(own);
}

void write_document(Json& json, const ModelOptions& options) {
  if (!options.document) {
    return;
  }
  const auto& own = *options.document;
  auto types = Json::object();
  write_layer_types(types, own.types);
  json[kDocumentKey] = {{kEncoder, json_of_component(own.encoder)},
                        {kLayersOfDocument, own.layers},
                        {kSentences, own.sentences},
                        {kSentenceLength, own.sentence_length},
                        {kDecoderLayers, own.decoder_layers},
                        {kSentenceVector, json_of_component(*own.sentence_vector)},
                        {kDocumentPooling, json_of_component(*own.pooling)},
                        {kDocumentLayerTypes, std::move(types)}};
}

}  // namespace weft::models
