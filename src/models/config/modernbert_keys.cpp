#include <algorithm>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/modernbert.h"
#include "nn/position/position.h"

namespace weft::models {

namespace {

using config::Section;

constexpr std::string_view kModernOnly = "type: modernbert";

/// Initial values of the keys; in documentation mode, the published values.
ModernOptions starting_options(const Section& section, const ModelOptions& options) {
  return section.is_documenting() ? modernbert_defaults().modern : options.modern;
}

bool is_read(const Section& section, const ModelOptions& options) {
  return section.is_documenting() || is_modernbert(options.family);
}

template <class Value>
void require_unchanged(const Section& section,
                       std::string_view key,
                       const ModelOptions& options,
                       const ModelOptions* base,
                       Value ModernOptions::*field) {
  if (base != nullptr && options.modern.*field != base->modern.*field) {
    section.fail(key, "contradicts the model in init_from; omit it");
  }
}

/// Rejects choices that the family does not support.
template <class Enum>
void reject_other_choices(const Section& section,
                          const ModelOptions& options,
                          const config::Choices<Enum>& choices,
                          Enum found,
                          const std::vector<Enum>& allowed) {
  std::string word;
  std::vector<std::string> words;
  for (const auto& [name, value] : choices) {
    word = value == found ? name : word;
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) {
      words.emplace_back(name);
    }
  }
  if (std::find(words.begin(), words.end(), word) == words.end()) {
    section.fail("type", str_cat(word, " is not supported by ", word_of(options.family),
                                 ", allowed is ", join(words)));
  }
}

/// Reads one `bias` key, which exists in three sections.
void read_bias(Section& section,
               ModelOptions& options,
               const ModelOptions* base,
               bool ModernOptions::*field) {
  auto modern = starting_options(section, options);
  section.read("bias", modern.*field,
               {.help = "Bias terms of the linear layers.", .only_if = kModernOnly});
  if (is_modernbert(options.family)) {
    options.modern.*field = modern.*field;
    require_unchanged(section, "bias", options, base, field);
  }
}

/// `type: full`: no layer has a window.
void resolve_windows(const Section& section,
                     const std::string& type,
                     int64_t before,
                     ModernOptions& modern) {
  if (type != "window") {
    if (section.has("global_attn_every_n_layers") && modern.global_attention_every != 1) {
      section.fail("global_attn_every_n_layers",
                   "has no effect with type: full, only with type: window");
    }
    modern.global_attention_every = 1;
    modern.global_attention_layers.clear();
  } else if (modern.global_attention_every != before) {
    modern.global_attention_layers.clear();
  }
}

}  // namespace

void read_modernbert(Section& section, ModelOptions& options) {
  if (!is_read(section, options)) {
    return;
  }
  enum class Pooled { kFirst, kMean };
  static const config::Choices<Pooled> kWords = {{"cls", Pooled::kFirst}, {"mean", Pooled::kMean}};
  auto pooled = options.modern.uses_mean_pooling ? Pooled::kMean : Pooled::kFirst;
  section.read_choice(
      "classifier_pooling", pooled, kWords,
      {.help = "Token pooling for sequence classification. cls: the first token; mean: the mean "
               "over all tokens (the first token only sees a local window in most layers).",
       .only_if = kModernOnly});
  options.modern.uses_mean_pooling = pooled == Pooled::kMean;
}

void read_modernbert_attention(LayerPartSection& part,
                               ModelOptions& options,
                               const ModelOptions* base) {
  auto& section = part.shared();
  auto modern = starting_options(section, options);
  const bool is_modern = is_modernbert(options.family);
  const bool has_windows =
      is_modern && (modern.global_attention_every > 1 || !modern.global_attention_layers.empty());
  const auto type = read_attention_types(
      part,
      {.family_types = is_modern ? std::vector<std::string>{"full", "window"}
                                 : std::vector<std::string>{"full"},
       .default_type = has_windows ? "window" : "full",
       .layers = options.layers,
       .help =
           "Which tokens a token attends to. full: the whole sequence; window: the tokens "
           "around it, and in some layers the whole sequence (modernbert); or another attention "
           "type."},
      options.layer_types);
  if (!is_read(section, options)) {
    return;
  }
  section.read("window", modern.window,
               {.help = "Sliding window size in tokens: centred on the token, half on each side "
                        "(modernbert), or ending at the token and including it (mistral).",
                .unit = "tokens",
                .range = config::between(1, 1 << 20),
                .only_if = kModernOnly});
  section.read(
      "global_attn_every_n_layers", modern.global_attention_every,
      {.help =
           "With type: window: every N-th layer, starting with the first, uses global attention.",
       .unit = "layers",
       .range = config::between(1, 1024),
       .only_if = kModernOnly});
  read_bias(section, options, base, &ModernOptions::attention_bias);
  if (is_modernbert(options.family)) {
    resolve_windows(section, type, options.modern.global_attention_every, modern);
    modern.attention_bias = options.modern.attention_bias;
    options.modern = modern;
    require_unchanged(section, "window", options, base, &ModernOptions::window);
    require_unchanged(section, "global_attn_every_n_layers", options, base,
                      &ModernOptions::global_attention_every);
    require_unchanged(section, "type", options, base, &ModernOptions::global_attention_layers);
  }
}

void read_modernbert_position(Section& section, ModelOptions& options, const ModelOptions* base) {
  using nn::PositionType;
  const auto own = is_modernbert(options.family) ? PositionType::kRotary : PositionType::kLearned;
  auto type = own;
  section.read_choice(
      "type", type, nn::position_types(),
      {.help = "Position encoding: learned absolute position embeddings, or rotary position "
               "embeddings (RoPE) applied to queries and keys (modernbert)."});
  reject_other_choices(section, options, nn::position_types(), type, {own});
  if (!is_read(section, options)) {
    return;
  }
  auto modern = starting_options(section, options);
  section.read("rope_theta", modern.theta,
               {.help = "Base of the RoPE wavelengths (theta).",
                .range = config::above(1),
                .only_if = kModernOnly});
  section.read("local_rope_theta", modern.local_rope_theta,
               {.help = "Base of the RoPE wavelengths in local (sliding-window) layers.",
                .range = config::above(1),
                .only_if = kModernOnly});
  if (is_modernbert(options.family)) {
    options.modern = modern;
    require_unchanged(section, "rope_theta", options, base, &ModernOptions::theta);
    require_unchanged(section, "local_rope_theta", options, base, &ModernOptions::local_rope_theta);
    if (options.dim / options.heads % 2 != 0) {
      section.fail("type", str_cat("rotary position embeddings need an even head size, found ",
                                   options.dim, " / ", options.heads));
    }
  }
}

void read_modernbert_feed_forward(Section& section,
                                  ModelOptions& options,
                                  const ModelOptions* base) {
  if (!is_read(section, options)) {
    return;
  }
  read_bias(section, options, base, &ModernOptions::feed_forward_bias);
  double dropout = options.modern.activation_dropout;
  section.read("dropout", dropout,
               {.help = "Dropout on the activations of the feed-forward layer.",
                .range = config::half_open(0, 1),
                .only_if = kModernOnly});
  options.modern.activation_dropout = dropout;
}

void read_modernbert_norm(Section& section, ModelOptions& options, const ModelOptions* base) {
  if (is_read(section, options)) {
    read_bias(section, options, base, &ModernOptions::norm_bias);
  }
}

}  // namespace weft::models
