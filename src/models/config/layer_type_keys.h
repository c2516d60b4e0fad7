#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/section.h"
#include "models/config/layer_types.h"
#include "models/config/options.h"
#include "nn/component.h"

/// Keys of `model:` that choose the types of layer parts.
namespace weft::models {

/// A part of `model:` that may differ between the layers, such as `attention`: one mapping, or a
/// list of mappings that is cycled over the layers. Keys that all types share, such as `heads`,
/// belong into the mapping or the first item of the list.
class LayerPartSection {
 public:
  LayerPartSection(config::Section& model, std::string_view key, const config::KeySpec& spec);

  /// The section of the shared keys.
  config::Section& shared() { return items_.front(); }
  bool is_list() const { return is_list_; }
  std::vector<config::Section>& items() { return items_; }

 private:
  std::vector<config::Section> items_;
  bool is_list_ = false;
};

/// Names of the types: those of the family first.
template <class Definition>
std::vector<std::string> type_names(const Registry<Definition>& registry,
                                    const std::vector<std::string>& family_types) {
  auto names = family_types;
  for (const auto& definition : registry.all()) {
    if (std::find(names.begin(), names.end(), definition.name) == names.end()) {
      names.emplace_back(definition.name);
    }
  }
  return names;
}

/// `0-3` or `5`: first and last layer; nullopt if it is neither.
std::optional<std::pair<int64_t, int64_t>> parse_layer_range(std::string_view text);

/// How a family reads the type of a layer part.
struct LayerTypeKeys {
  std::vector<std::string> family_types;  // types that the family reads itself
  std::string default_type;               // one of them
  int64_t layers = 0;
  std::string_view help = "";
};

/// Reads `type` and the keys of the type, of each item of a list, or of each range of `layers:`.
/// Types that the family does not have itself go to `types`. Returns the family's type, or an empty
/// string if all layers have another. Throws config::Error.
std::string read_attention_types(LayerPartSection& section,
                                 const LayerTypeKeys& keys,
                                 LayerTypes& types);
std::string read_feed_forward_types(LayerPartSection& section,
                                    const LayerTypeKeys& keys,
                                    LayerTypes& types);

/// Reads `position`: one type, or a list of types, which are all applied. Returns whether it is
/// only `family_type`, whose keys the family reads itself.
bool read_position_types(LayerPartSection& section,
                         const std::string& family_type,
                         LayerTypes& types);

/// The same for the section `norm`, whose type holds for all layers.
void read_norm_type(config::Section& section, std::string_view family_type, LayerTypes& types);

/// The same for the section `output`, the output layer of language models.
void read_output_type(config::Section section, LayerTypes& types);

/// Reads `classifier_pooling`, of which the family has `family_type`.
void read_pooling_type(config::Section& model, std::string_view family_type, LayerTypes& types);

/// Reads `sharing`, which layers share their parameters. `stacks`: see read_block.
void read_sharing(config::Section section,
                  const std::vector<int64_t>& stacks,
                  ModelOptions& options);

/// Reads `block`, the orders of the sub-layers, and the sections of those that have one. `stacks`:
/// the number of layers of the model, or of its encoder and its decoder. Throws config::Error.
void read_block(config::Section& model, const std::vector<int64_t>& stacks, LayerTypes& types);

// Keys of `model:` about word embeddings, and whether the output has the same weights.

/// Reads the section `embedding`. `base`: the init_from model, which must have the same. Throws
/// config::Error.
void read_embedding_type(config::Section& model, ModelOptions& options, const ModelOptions* base);

/// Reads `tie_word_embeddings`, if the family has this key, and checks whether the output can be
/// tied to the word embeddings, or left untied, as the options say. Throws config::Error.
void read_ties(config::Section& model,
               ModelOptions& options,
               const ModelOptions* base,
               bool has_key = true);

}  // namespace weft::models
