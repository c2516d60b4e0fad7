#include "base/text.h"
#include "models/config/family.h"
#include "models/config/modern.h"
#include "models/config/traits.h"
#include "models/families/bert_kind.h"
#include "nn/norm/norm.h"

namespace weft::models::bert_kind {

namespace {

using config::Section;
using models::word_of;

std::string_view word_of(NormPlace place) { return place == NormPlace::kPost ? "post" : "pre"; }

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

/// One reading of the `model:` section.
struct Reading {
  ModelOptions& options;
  const ModelOptions* base = nullptr;  // what init_from brings

  /// For keys that decide the shape or the meaning of stored weights.
  template <class Value>
  void keep(const Section& section, std::string_view key, Value ModelOptions::*field) const {
    if (base != nullptr && options.*field != base->*field) {
      section.fail(key, text(word_of(options.*field), " contradicts ", word_of(base->*field),
                             " of the model that init_from names; leave it out"));
    }
  }
};

void read_attention(Section section, Reading& reading) {
  auto& options = reading.options;
  section.read("heads", options.heads,
               {.help = "Attention heads; they divide dim.",
                .unit = "heads",
                .range = config::between(1, 1024)});
  section.read("dropout", options.attention_dropout,
               {.help = "Share of the attention weights that are dropped in training.",
                .range = config::from_to_below(0, 1)});
  reading.keep(section, "heads", &ModelOptions::heads);
  if (options.dim % options.heads != 0) {
    section.fail("heads", text(options.heads, " does not divide dim ", options.dim));
  }
  read_modern_attention(section, options, reading.base);
  section.reject_unread();
}

void read_position(Section section, Reading& reading) {
  auto& options = reading.options;
  read_modern_position(section, options, reading.base);
  section.read("length", options.length,
               {.help = "Longest sequence that the model can take, special tokens counted.",
                .unit = "tokens",
                .range = config::between(4, 1 << 20)});
  section.read("sinusoidal", options.begins_sinusoidal,
               {.help = "Whether the table begins as sinusoids, not at random; "
                        "it is trained all "
                        "the same."});
  if (options.begins_sinusoidal && is_modern(options.family)) {
    section.fail("sinusoidal", "has no effect here: rotary positions have no table");
  }
  reading.keep(section, "length", &ModelOptions::length);
  section.reject_unread();
}

void read_bert_feed_forward(Section section, Reading& reading) {
  auto& options = reading.options;
  section.read("width", options.width,
               {.help = "Width between the two projections; 4 * dim where dim "
                        "is given and this is "
                        "not (1.5 * dim for "
                        "modernbert).",
                .unit = "features",
                .range = config::between(1, 1 << 20)});
  section.read_choice("activation", options.activation, activations(),
                      {.help = "The function between the projections."});
  read_modern_feed_forward(section, options, reading.base);
  reading.keep(section, "width", &ModelOptions::width);
  reading.keep(section, "activation", &ModelOptions::activation);
  section.reject_unread();
}

void read_norm(Section section, Reading& reading) {
  auto& options = reading.options;
  auto type = nn::NormType::kLayer;
  section.read_choice("type", type, nn::norm_types(), {.help = "The kind of normalisation."});
  section.read_choice("place", options.norm_place, norm_places(),
                      {.help = "After the residual sum (post, as published) or "
                               "before each sub-layer (pre); "
                               "transformers has no pre-norm BERT."});
  section.read(
      "epsilon", options.norm_epsilon,
      {.help = "Added to the variance.", .range = {.min = 0, .max = 1, .excludes_min = true}});
  if (type != nn::NormType::kLayer) {
    section.fail("type",
                 text("rms does not go with ", word_of(options.family), ", allowed is layer"));
  }
  if (!has_norm_place(options.family, options.norm_place)) {
    section.fail("place",
                 text(word_of(options.norm_place), " does not go with ", word_of(options.family),
                      ", allowed is ", options.norm_place == NormPlace::kPre ? "post" : "pre"));
  }
  if (traits_of(options.family).has_fixed_epsilon && options.norm_epsilon != 1e-12) {
    section.fail("epsilon", text(word_of(options.family), " has 1e-12 and no other"));
  }
  read_modern_norm(section, options, reading.base);
  reading.keep(section, "place", &ModelOptions::norm_place);
  reading.keep(section, "epsilon", &ModelOptions::norm_epsilon);
  section.reject_unread();
}

/// What the family does not have.
void refuse_sizes(const Section& section, const ModelOptions& options) {
  const auto& traits = traits_of(options.family);
  if (traits.has_segments != (options.segments > 0)) {
    section.fail("segments", text(options.segments, " does not go with ", word_of(options.family),
                                  ", allowed is ", traits.has_segments ? "1 or more" : "0"));
  }
  if (options.embedding_dim > 0 && !traits.projects_embeddings) {
    section.fail("embedding_dim", text(options.embedding_dim, " does not go with ",
                                       word_of(options.family), ", allowed is 0"));
  }
}

void read_bert_sizes(Section& section, Reading& reading) {
  auto& options = reading.options;
  section.read("dim", options.dim,
               {.help = "Width of the residual stream.",
                .unit = "features",
                .range = config::between(1, 65536)});
  if (reading.base == nullptr && section.has("dim")) {
    options.width = is_modern(options.family) ? options.dim * 3 / 2 : 4 * options.dim;
  }
  section.read(
      "layers", options.layers,
      {.help = "Blocks of the stack.", .unit = "layers", .range = config::between(1, 1024)});
  section.read("segments", options.segments,
               {.help = "Kinds of text that a sequence tells apart; 1: none; "
                        "0: the family has no "
                        "table of them (distilbert).",
                .range = config::between(0, 1024)});
  section.read("embedding_dim", options.embedding_dim,
               {.help = "Width of the embeddings where it is not dim and a "
                        "projection follows "
                        "(electra); 0: as dim.",
                .unit = "features",
                .range = config::between(0, 65536)});
  refuse_sizes(section, options);
  reading.keep(section, "dim", &ModelOptions::dim);
  reading.keep(section, "layers", &ModelOptions::layers);
  reading.keep(section, "segments", &ModelOptions::segments);
  reading.keep(section, "embedding_dim", &ModelOptions::embedding_dim);
}

/// `dropout` speaks for all of them; the others, where given, for themselves.
void read_dropouts(Section& section, ModelOptions& options) {
  section.read("dropout", options.dropout,
               {.help = "Share of the features that are dropped in training; "
                        "holds for attention "
                        "and head too unless they say otherwise.",
                .range = config::from_to_below(0, 1)});
  if (section.has("dropout")) {
    options.attention_dropout = options.dropout;
    options.head_dropout.reset();
    options.sequence_dropout = options.dropout;
    options.span_dropout = options.dropout;
    options.modern.feed_forward_dropout = is_modern(options.family) ? options.dropout : 0;
  }
  section.read("head_dropout", options.head_dropout,
               {.help = "Dropout before the classifier; null: as `dropout`, or "
                        "as published (distilbert).",
                .range = config::from_to_below(0, 1)});
}

void read_rest(Section& section, Reading& reading) {
  auto& options = reading.options;
  section.read("deviation", options.deviation,
               {.help = "Standard deviation of the normal that initialises matrices.",
                .range = {.min = 0, .max = 1, .excludes_min = true}});
  section.read("ties_embeddings", options.ties_embeddings,
               {.help = "Whether the output matrix is the word embedding."});
  reading.keep(section, "ties_embeddings", &ModelOptions::ties_embeddings);
}

}  // namespace

void read_keys(Section& section, ModelOptions& options, const ModelOptions* base) {
  Reading reading{.options = options, .base = base};
  read_bert_sizes(section, reading);
  read_dropouts(section, options);
  read_attention(section.section("attention", {.help = "How tokens see each other."}), reading);
  read_position(section.section("position", {.help = "Where a token stands."}), reading);
  read_bert_feed_forward(
      section.section("feed_forward", {.help = "The sub-layer that changes each token by itself."}),
      reading);
  read_norm(section.section("norm", {.help = "The norms of the stack."}), reading);
  read_modern(section, options);
  read_rest(section, reading);
}

}  // namespace weft::models::bert_kind
