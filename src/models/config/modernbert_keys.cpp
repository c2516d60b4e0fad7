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
ModelOptions starting_options(const Section& section, const ModelOptions& options) {
  return section.is_documenting() ? modernbert_defaults() : options;
}

bool is_read(const Section& section, const ModelOptions& options) {
  return section.is_documenting() || is_modernbert(options.family);
}

template <class Part, class Value>
void require_unchanged(const Section& section,
                       std::string_view key,
                       const ModelOptions& options,
                       const ModelOptions* base,
                       Part ModelOptions::*part,
                       Value Part::*field) {
  if (base != nullptr && options.*part.*field != base->*part.*field) {
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
               bool BiasOptions::*field) {
  auto biases = starting_options(section, options).biases;
  section.read("bias", biases.*field,
               {.help = "Bias terms of the linear layers.", .only_if = kModernOnly});
  if (is_modernbert(options.family)) {
    options.biases = biases;
    require_unchanged(section, "bias", options, base, &ModelOptions::biases, field);
  }
}

/// `type: full`: no layer has a window.
void resolve_windows(const Section& section,
                     const std::string& type,
                     int64_t before,
                     WindowOptions& window) {
  if (type != "window") {
    if (section.has("global_attn_every_n_layers") && window.global_every != 1) {
      section.fail("global_attn_every_n_layers",
                   "has no effect with type: full, only with type: window");
    }
    window.global_every = 1;
    window.global_layers.clear();
  } else if (window.global_every != before) {
    window.global_layers.clear();
  }
}

}  // namespace

void read_modernbert(Section& section, ModelOptions& options) {
  if (!is_read(section, options)) {
    return;
  }
  enum class Pooled { kFirst, kMean };
  static const config::Choices<Pooled> kWords = {{"cls", Pooled::kFirst}, {"mean", Pooled::kMean}};
  auto pooled = options.uses_mean_pooling ? Pooled::kMean : Pooled::kFirst;
  section.read_choice(
      "classifier_pooling", pooled, kWords,
      {.help = "Token pooling for sequence classification. cls: the first token; mean: the mean "
               "over all tokens (the first token only sees a local window in most layers).",
       .only_if = kModernOnly});
  options.uses_mean_pooling = pooled == Pooled::kMean;
}

void read_modernbert_attention(LayerPartSection& part,
                               ModelOptions& options,
                               const ModelOptions* base) {
  auto& section = part.shared();
  auto window = starting_options(section, options).window;
  const bool is_modern = is_modernbert(options.family);
  const bool has_windows = is_modern && (window.global_every > 1 || !window.global_layers.empty());
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
  section.read("window", window.size,
               {.help = "Sliding window size in tokens: centred on the token, half on each side "
                        "(modernbert), or ending at the token and including it (mistral).",
                .unit = "tokens",
                .range = config::between(1, 1 << 20),
                .only_if = kModernOnly});
  section.read(
      "global_attn_every_n_layers", window.global_every,
      {.help =
           "With type: window: every N-th layer, starting with the first, uses global attention.",
       .unit = "layers",
       .range = config::between(1, 1024),
       .only_if = kModernOnly});
  read_bias(section, options, base, &BiasOptions::attention);
  if (is_modern) {
    resolve_windows(section, type, options.window.global_every, window);
    options.window = window;
    constexpr auto kPart = &ModelOptions::window;
    require_unchanged(section, "window", options, base, kPart, &WindowOptions::size);
    require_unchanged(section, "global_attn_every_n_layers", options, base, kPart,
                      &WindowOptions::global_every);
    require_unchanged(section, "type", options, base, kPart, &WindowOptions::global_layers);
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
  auto rope = starting_options(section, options).rope;
  section.read("rope_theta", rope.theta,
               {.help = "Base of the RoPE wavelengths (theta).",
                .range = config::above(1),
                .only_if = kModernOnly});
  section.read("local_rope_theta", rope.local_theta,
               {.help = "Base of the RoPE wavelengths in local (sliding-window) layers.",
                .range = config::above(1),
                .only_if = kModernOnly});
  if (is_modernbert(options.family)) {
    options.rope = rope;
    constexpr auto kPart = &ModelOptions::rope;
    require_unchanged(section, "rope_theta", options, base, kPart, &RopeOptions::theta);
    require_unchanged(section, "local_rope_theta", options, base, kPart, &RopeOptions::local_theta);
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
  read_bias(section, options, base, &BiasOptions::feed_forward);
  double dropout = options.activation_dropout;
  section.read("dropout", dropout,
               {.help = "Dropout on the activations of the feed-forward layer.",
                .range = config::half_open(0, 1),
                .only_if = kModernOnly});
  options.activation_dropout = dropout;
}

void read_modernbert_norm(Section& section, ModelOptions& options, const ModelOptions* base) {
  if (is_read(section, options)) {
    read_bias(section, options, base, &BiasOptions::norm);
  }
}

}  // namespace weft::models
