#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/layer_type_keys.h"
#include "models/config/modernbert.h"
#include "models/config/traits.h"
#include "models/families/bert_kind.h"
#include "nn/norm/norm.h"

namespace weft::models::bert_family {

namespace {

using config::Section;
using models::word_of;

std::string_view word_of(NormPlacement place) {
  return place == NormPlacement::kPost ? "post" : "pre";
}

std::string_view word_of(kernels::Activation activation) {
  for (const auto& [word, value] : activations()) {
    if (value == activation) {
      return word;
    }
  }
  return "";
}

int64_t word_of(int64_t value) { return value; }
double word_of(double value) { return value; }
std::string_view word_of(bool value) { return value ? "true" : "false"; }

/// State of reading one `model:` section.
struct Reading {
  ModelOptions& options;
  const ModelOptions* base = nullptr;  // the init_from model

  /// For keys that define the shape or the meaning of stored weights.
  template <class Value>
  void require_unchanged(const Section& section,
                         std::string_view key,
                         Value ModelOptions::*field) const {
    if (base != nullptr && options.*field != base->*field) {
      section.fail(key, str_cat(word_of(options.*field), " contradicts ", word_of(base->*field),
                                " of the model in init_from; omit it"));
    }
  }
};

void read_attention(LayerPartSection part, Reading& reading) {
  auto& options = reading.options;
  auto& section = part.shared();
  section.read("heads", options.heads,
               {.help = "Number of attention heads; must divide dim.",
                .unit = "heads",
                .range = config::between(1, 1024)});
  section.read(
      "dropout", options.attention_dropout,
      {.help = "Dropout probability of the attention weights.", .range = config::half_open(0, 1)});
  reading.require_unchanged(section, "heads", &ModelOptions::heads);
  if (options.dim % options.heads != 0) {
    section.fail("heads", str_cat(options.heads, " does not divide dim ", options.dim));
  }
  read_modernbert_attention(part, options, reading.base);
  section.reject_unread();
}

void read_position(Section section, Reading& reading) {
  auto& options = reading.options;
  read_modernbert_position(section, options, reading.base);
  section.read("length", options.length,
               {.help = "Maximum sequence length of the model in tokens, including special tokens.",
                .unit = "tokens",
                .range = config::between(4, 1 << 20)});
  section.read("sinusoidal_init", options.has_sinusoidal_positions,
               {.help = "Initialises the position embeddings with sinusoids instead of random "
                        "values. They are trained in either case."});
  if (options.has_sinusoidal_positions && is_modernbert(options.family)) {
    section.fail("sinusoidal_init", "has no effect here: rotary position embeddings have no table");
  }
  reading.require_unchanged(section, "length", &ModelOptions::length);
  section.reject_unread();
}

void read_bert_feed_forward(LayerPartSection part, Reading& reading) {
  auto& options = reading.options;
  auto& section = part.shared();
  read_feed_forward_types(part,
                          {.family_types = {"standard"},
                           .default_type = "standard",
                           .layers = options.layers,
                           .help = "The type of the feed-forward."},
                          options.layer_types);
  section.read("width", options.width,
               {.help = "Intermediate size of the feed-forward layer. Default: 4 * dim if dim is "
                        "given (1.5 * dim for modernbert).",
                .unit = "features",
                .range = config::between(1, 1 << 20)});
  section.read_choice("activation", options.activation, activations(),
                      {.help = "Activation function of the feed-forward layer."});
  read_modernbert_feed_forward(section, options, reading.base);
  reading.require_unchanged(section, "width", &ModelOptions::width);
  reading.require_unchanged(section, "activation", &ModelOptions::activation);
  section.reject_unread();
}

void read_norm(Section section, Reading& reading) {
  auto& options = reading.options;
  auto type = nn::NormType::kLayer;
  section.read_choice("type", type, nn::norm_types(), {.help = "Normalization type."});
  section.read_choice(
      "place", options.norm_placement, norm_placements(),
      {.help = "Position of the normalization: after the residual connection (post, as published) "
               "or before each sub-layer (pre). transformers has no pre-norm BERT."});
  section.read("epsilon", options.norm_epsilon,
               {.help = "Epsilon added to the variance.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  if (type != nn::NormType::kLayer) {
    section.fail(
        "type", str_cat("rms is not supported by ", word_of(options.family), ", allowed is layer"));
  }
  if (!has_norm_placement(options.family, options.norm_placement)) {
    section.fail("place", str_cat(word_of(options.norm_placement), " is not supported by ",
                                  word_of(options.family), ", allowed is ",
                                  options.norm_placement == NormPlacement::kPre ? "post" : "pre"));
  }
  if (capabilities_of(options.family).has_fixed_epsilon && options.norm_epsilon != 1e-12) {
    section.fail("epsilon", str_cat("must be 1e-12 for ", word_of(options.family)));
  }
  read_modernbert_norm(section, options, reading.base);
  reading.require_unchanged(section, "place", &ModelOptions::norm_placement);
  reading.require_unchanged(section, "epsilon", &ModelOptions::norm_epsilon);
  section.reject_unread();
}

/// Rejects sizes that the family does not have.
void reject_sizes(const Section& section, const ModelOptions& options) {
  const auto& capabilities = capabilities_of(options.family);
  if (capabilities.has_segments != (options.type_vocab_size > 0)) {
    section.fail("type_vocab_size",
                 str_cat(options.type_vocab_size, " is not supported by ", word_of(options.family),
                         ", allowed is ", capabilities.has_segments ? "1 or more" : "0"));
  }
  if (options.embedding_size > 0 && !capabilities.has_embedding_projection) {
    section.fail("embedding_size", str_cat(options.embedding_size, " is not supported by ",
                                           word_of(options.family), ", allowed is 0"));
  }
}

void read_bert_sizes(Section& section, Reading& reading) {
  auto& options = reading.options;
  section.read("dim", options.dim,
               {.help = "Hidden size of the model.",
                .unit = "features",
                .range = config::between(1, 65536)});
  if (reading.base == nullptr && section.has("dim")) {
    options.width = is_modernbert(options.family) ? options.dim * 3 / 2 : 4 * options.dim;
  }
  section.read("layers", options.layers,
               {.help = "Number of transformer layers.",
                .unit = "layers",
                .range = config::between(1, 1024)});
  section.read("type_vocab_size", options.type_vocab_size,
               {.help = "Number of token types (segment embeddings). 1: all tokens have the same "
                        "type. 0: the family has no token type embeddings (distilbert).",
                .range = config::between(0, 1024)});
  section.read("embedding_size", options.embedding_size,
               {.help = "Embedding size, if it differs from dim and is followed by a projection "
                        "(electra). 0: same as dim.",
                .unit = "features",
                .range = config::between(0, 65536)});
  reject_sizes(section, options);
  reading.require_unchanged(section, "dim", &ModelOptions::dim);
  reading.require_unchanged(section, "layers", &ModelOptions::layers);
  reading.require_unchanged(section, "type_vocab_size", &ModelOptions::type_vocab_size);
  reading.require_unchanged(section, "embedding_size", &ModelOptions::embedding_size);
}

/// `dropout` is the default of all rates; the others override it where given.
void read_dropouts(Section& section, ModelOptions& options) {
  section.read("dropout", options.dropout,
               {.help = "Dropout probability of hidden features; also the default for attention "
                        "and classifier dropout.",
                .range = config::half_open(0, 1)});
  if (section.has("dropout")) {
    options.attention_dropout = options.dropout;
    options.classifier_dropout.reset();
    options.sequence_dropout = options.dropout;
    options.span_dropout = options.dropout;
    options.activation_dropout = is_modernbert(options.family) ? options.dropout : 0;
  }
  section.read("classifier_dropout", options.classifier_dropout,
               {.help = "Dropout probability before the classifier. null: same as `dropout`, or as "
                        "published (distilbert).",
                .range = config::half_open(0, 1)});
}

void read_rest(Section& section, Reading& reading) {
  auto& options = reading.options;
  section.read(
      "init_std", options.init_std,
      {.help = "Standard deviation of the normal distribution that initialises weight matrices.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  section.read("tie_word_embeddings", options.tie_word_embeddings,
               {.help = "Ties the output projection to the word embeddings."});
  reading.require_unchanged(section, "tie_word_embeddings", &ModelOptions::tie_word_embeddings);
}

}  // namespace

void read_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  Reading reading{.options = options, .base = base};
  read_bert_sizes(section, reading);
  read_dropouts(section, options);
  read_attention(LayerPartSection(section, "attention", {.help = "The attention of the layers."}),
                 reading);
  read_position(section.section("position", {.help = "Position encoding."}), reading);
  read_bert_feed_forward(
      LayerPartSection(section, "feed_forward",
                       {.help = "The position-wise feed-forward of the layers."}),
      reading);
  read_block(section, false, options.layer_types);
  if (base != nullptr && !(options.layer_types == base->layer_types)) {
    section.fail("attention", "contradicts the model that init_from names; leave it out");
  }
  read_norm(section.section("norm", {.help = "The norms of the stack."}), reading);
  read_modernbert(section, options);
  read_rest(section, reading);
}

}  // namespace weft::models::bert_family
