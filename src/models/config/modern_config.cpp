#include <algorithm>

#include "base/text.h"
#include "models/config/family.h"
#include "models/config/modern.h"
#include "nn/attention/attention.h"
#include "nn/position/position.h"

namespace weft::models {

namespace {

using config::Section;

constexpr std::string_view kModernOnly = "type: modernbert";

/// What the keys are read into: describing, the published values.
ModernOptions begun(const Section& section, const ModelOptions& options) {
  return section.is_describing() ? modern_defaults().modern : options.modern;
}

bool is_read(const Section& section, const ModelOptions& options) {
  return section.is_describing() || is_modern(options.family);
}

template <class Value>
void keep(const Section& section,
          std::string_view key,
          const ModelOptions& options,
          const ModelOptions* base,
          Value ModernOptions::*field) {
  if (base != nullptr && options.modern.*field != base->modern.*field) {
    section.fail(key, "contradicts the model that init_from names; leave it out");
  }
}

/// Words that only one family has, or has not.
template <class Enum>
void refuse_other(const Section& section,
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
    section.fail("type", text(word, " does not go with ", word_of(options.family), ", allowed is ",
                              join(words)));
  }
}

/// One bias or none: keys of that name stand in three sections.
void read_bias(Section& section,
               ModelOptions& options,
               const ModelOptions* base,
               bool ModernOptions::*field) {
  auto modern = begun(section, options);
  section.read("bias", modern.*field, {.help = "Whether there are biases.", .only = kModernOnly});
  if (is_modern(options.family)) {
    options.modern.*field = modern.*field;
    keep(section, "bias", options, base, field);
  }
}

/// `type: full` is a window nowhere.
void settle_windows(const Section& section,
                    nn::AttentionType type,
                    int64_t before,
                    ModernOptions& modern) {
  if (type == nn::AttentionType::kFull) {
    if (section.has("full_every") && modern.full_every != 1) {
      section.fail("full_every", "has no effect with type: full, allowed with type: window");
    }
    modern.full_every = 1;
    modern.full_layers.clear();
  } else if (modern.full_every != before) {
    modern.full_layers.clear();
  }
}

}  // namespace

void read_modern(Section& section, ModelOptions& options) {
  if (!is_read(section, options)) {
    return;
  }
  enum class Pooled { kFirst, kMean };
  static const config::Choices<Pooled> kWords = {{"first", Pooled::kFirst},
                                                 {"mean", Pooled::kMean}};
  auto pooled = options.modern.pools_mean ? Pooled::kMean : Pooled::kFirst;
  section.read_choice("pooling", pooled, kWords,
                      {.help = "What a classifier of sequences looks at: the first token, or the "
                               "mean of all; the first sees but a window in most layers.",
                       .only = kModernOnly});
  options.modern.pools_mean = pooled == Pooled::kMean;
}

void read_modern_attention(Section& section, ModelOptions& options, const ModelOptions* base) {
  using nn::AttentionType;
  auto modern = begun(section, options);
  const bool has_windows =
      is_modern(options.family) && (modern.full_every > 1 || !modern.full_layers.empty());
  auto type = has_windows ? AttentionType::kWindow : AttentionType::kFull;
  section.read_choice("type", type, nn::attention_types(),
                      {.help = "Who sees whom. full: each token its whole sequence; window: what "
                               "is near, and in some layers the whole sequence (modernbert)."});
  if (!is_modern(options.family)) {
    refuse_other(section, options, nn::attention_types(), type, {AttentionType::kFull});
  }
  if (!is_read(section, options)) {
    return;
  }
  section.read(
      "window", modern.window,
      {.help = "Tokens that a token sees around it, half of them on each side (modernbert), or "
               "up to it, itself counted (mistral).",
       .unit = "tokens",
       .range = config::between(1, 1 << 20),
       .only = kModernOnly});
  section.read("full_every", modern.full_every,
               {.help = "With type: window, each so many-th layer from the first on sees whole "
                        "sequences.",
                .unit = "layers",
                .range = config::between(1, 1024),
                .only = kModernOnly});
  read_bias(section, options, base, &ModernOptions::attention_bias);
  if (is_modern(options.family)) {
    settle_windows(section, type, options.modern.full_every, modern);
    modern.attention_bias = options.modern.attention_bias;
    options.modern = modern;
    keep(section, "window", options, base, &ModernOptions::window);
    keep(section, "full_every", options, base, &ModernOptions::full_every);
    keep(section, "type", options, base, &ModernOptions::full_layers);
  }
}

void read_modern_position(Section& section, ModelOptions& options, const ModelOptions* base) {
  using nn::PositionType;
  const auto own = is_modern(options.family) ? PositionType::kRotary : PositionType::kLearned;
  auto type = own;
  section.read_choice("type", type, nn::position_types(),
                      {.help = "How the model knows where a token stands: a learned vector for "
                               "each place, or queries and keys turned by it (modernbert)."});
  refuse_other(section, options, nn::position_types(), type, {own});
  if (!is_read(section, options)) {
    return;
  }
  auto modern = begun(section, options);
  section.read("theta", modern.theta,
               {.help = "Base of the wavelengths of rotary positions.",
                .range = config::above(1),
                .only = kModernOnly});
  section.read("local_theta", modern.local_theta,
               {.help = "The same in layers that see a window.",
                .range = config::above(1),
                .only = kModernOnly});
  if (is_modern(options.family)) {
    options.modern = modern;
    keep(section, "theta", options, base, &ModernOptions::theta);
    keep(section, "local_theta", options, base, &ModernOptions::local_theta);
    if (options.dim / options.heads % 2 != 0) {
      section.fail("type", text("rotary needs heads of an even width, found ", options.dim, " / ",
                                options.heads));
    }
  }
}

void read_modern_feed_forward(Section& section, ModelOptions& options, const ModelOptions* base) {
  if (!is_read(section, options)) {
    return;
  }
  read_bias(section, options, base, &ModernOptions::feed_forward_bias);
  double dropout = options.modern.feed_forward_dropout;
  section.read("dropout", dropout,
               {.help = "Share of the activations that are dropped in training.",
                .range = config::from_to_below(0, 1),
                .only = kModernOnly});
  options.modern.feed_forward_dropout = dropout;
}

void read_modern_norm(Section& section, ModelOptions& options, const ModelOptions* base) {
  if (is_read(section, options)) {
    read_bias(section, options, base, &ModernOptions::norm_bias);
  }
}

}  // namespace weft::models
