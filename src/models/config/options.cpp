#include "models/config/options.h"

#include <algorithm>

#include "base/string_util.h"
#include "config/reference.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/presets.h"

namespace weft::models {

namespace {

using config::Section;

enum class CustomOrPreset : int { kCustom = -1 };

std::optional<Preset> read_preset(Section& section) {
  const auto all = presets();
  config::Choices<CustomOrPreset> choices = {{"custom", CustomOrPreset::kCustom}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    choices.emplace_back(all[i].name, static_cast<CustomOrPreset>(i));
  }
  auto choice = CustomOrPreset::kCustom;
  section.read_choice("preset", choice, choices,
                      {.help = "Published model size used as a starting point; keys given next to "
                               "it override its values. `custom`: only the given keys."});
  return choice == CustomOrPreset::kCustom ? std::nullopt
                                           : std::optional(all[static_cast<std::size_t>(choice)]);
}

/// With init_from a preset must match the existing model.
void keep_preset(const Section& section, const ModelOptions& base, const Preset& preset) {
  const auto& options = preset.options;
  const bool fits = options.family == base.family && options.dim == base.dim &&
                    options.layers == base.layers && options.heads == base.heads;
  if (!fits) {
    section.fail("preset", str_cat("'", preset.name, "' contradicts the model in init_from (",
                                   word_of(base.family), ", ", base.layers, " layers with dim ",
                                   base.dim, "); omit it"));
  }
}

/// Source of the values of absent keys: init_from, the preset, or the family.
ModelOptions starting_point(Section& section, const ModelOptions* base) {
  const auto preset = read_preset(section);
  if (base != nullptr && preset) {
    keep_preset(section, *base, *preset);
  }
  auto options = base != nullptr ? *base : preset ? preset->options : ModelOptions{};
  const auto family = options.family;
  section.read_choice("type", options.family, families(), {.help = "Model family (architecture)."});
  if (options.family == family || base != nullptr) {
    return options;
  }
  if (preset) {
    section.fail("type", str_cat(word_of(options.family), " contradicts the preset '", preset->name,
                                 "', allowed is ", word_of(family)));
  }
  return family_defaults(options.family);
}

/// Declares the keys of all families; each names the families that have it, and their defaults.
void document_families(Section& section) {
  std::vector<config::TypeDeclarations> all;
  for (const auto& [name, family] : families()) {
    auto options = family_defaults(family);
    const auto read = [&, reader = family->read_keys](Section keys) {
      reader(keys, options, nullptr);
    };
    all.push_back({name, config::collect_declarations(read)});
  }
  section.declare(config::merge_types(all));
}

}  // namespace

int64_t block_repeats(const FunnelOptions& options, std::size_t block) {
  return options.block_repeats.empty() ? 1 : options.block_repeats.at(block);
}

int64_t encoder_layers(const FunnelOptions& options) {
  int64_t layers = 0;
  for (std::size_t block = 0; block < options.block_sizes.size(); ++block) {
    layers += options.block_sizes[block] * block_repeats(options, block);
  }
  return layers;
}

int64_t head_outputs(const ModelOptions& options) {
  const auto& head = head_of(options);
  const auto classes = static_cast<int64_t>(options.labels.size());
  return !head.has_classes()     ? head.fixed_outputs
         : options.is_regression ? std::max<int64_t>(1, classes)
                                 : classes;
}

int64_t key_value_heads(const ModelOptions& options) {
  return options.key_value_heads > 0 ? options.key_value_heads : options.heads;
}

int64_t head_dim(const ModelOptions& options) {
  return options.head_dim > 0 ? options.head_dim : options.dim / options.heads;
}

int64_t query_width(const ModelOptions& options) { return options.heads * head_dim(options); }

int64_t key_width(const ModelOptions& options) {
  return key_value_heads(options) * head_dim(options);
}

bool uses_token_type_ids(const ModelOptions& options) {
  return options.type_vocab_size > 1 && !capabilities_of(options.family).has_language_ids;
}

bool uses_language_ids(const ModelOptions& options) {
  return options.type_vocab_size > 1 && capabilities_of(options.family).has_language_ids;
}

int64_t embedding_width(const ModelOptions& options) {
  return options.embedding_size > 0 ? options.embedding_size : options.dim;
}

bool has_reversible_layers(const ModelOptions& options) {
  return options.layer_types.reversible || capabilities_of(options.family).has_stream_concatenation;
}

int64_t states_dim(const ModelOptions& options) {
  const bool has_both_streams = capabilities_of(options.family).has_stream_concatenation ||
                                options.layer_types.reversible == nn::StreamMerge::kConcatenate;
  return has_both_streams ? 2 * options.dim : options.dim;
}

bool is_global_attention_layer(const ModelOptions& options, int64_t layer) {
  return options.window.global_layers.empty()
             ? layer % options.window.global_every == 0
             : options.window.global_layers[static_cast<std::size_t>(layer)];
}

int64_t distinct_layers(const ModelOptions& options) {
  const auto& sharing = options.layer_types.sharing;
  if (sharing && sharing->sublayers.empty()) {
    return std::min(sharing->distinct, options.layers);
  }
  return options.layer_groups > 0 ? options.layer_groups : options.layers;
}

double classifier_dropout(const ModelOptions& options) {
  const auto& head = head_of(options);
  const auto& capabilities = capabilities_of(options.family);
  if (capabilities.has_prediction_head) {
    return options.classifier_dropout.value_or(options.dropout);
  }
  if (head.detects_replaced_tokens) {
    return 0.0;
  }
  const bool is_own = capabilities.has_separate_head_dropouts;
  if (head.predicts_spans) {
    return is_own ? options.classifier_dropout.value_or(options.span_dropout) : 0.0;
  }
  return options.classifier_dropout.value_or(
      is_own && head.classifies_sequences ? options.sequence_dropout : options.dropout);
}

int64_t position_offset(const ModelOptions& options) {
  const auto& capabilities = capabilities_of(options.family);
  return capabilities.positions_start_after_pad_id ? options.pad_id + 1
                                                   : capabilities.first_position;
}

std::vector<nn::PositionChoice> position_choices(const ModelOptions& options) {
  const auto& own = options.layer_types.positions;
  return own.empty() ? options.family->positions(options) : own;
}

int64_t position_limit(const ModelOptions& options) {
  const auto choices = position_choices(options);
  const bool has_limit = std::ranges::any_of(choices, [](const nn::PositionChoice& choice) {
    return nn::position_types().at(choice.type).has_limit;
  });
  return has_limit ? options.length : 0;
}

int64_t text_length(const ModelOptions& options) {
  const auto& document = options.document;
  return document ? document->sentences * document->sentence_length : options.length;
}

bool has_own_parts(const ModelOptions& options) {
  return !options.layer_types.empty() || options.document;
}

ModelOptions read_model_options(Section& section, const ModelOptions* base) {
  auto options = starting_point(section, base);
  if (section.is_documenting()) {
    document_families(section);
    return options;
  }
  if (base != nullptr && options.family != base->family) {
    section.fail("type", str_cat(word_of(options.family), " contradicts ", word_of(base->family),
                                 " of the model in init_from; omit it"));
  }
  options.family->read_keys(section, options, base);
  section.reject_unread();
  return options;
}

}  // namespace weft::models
