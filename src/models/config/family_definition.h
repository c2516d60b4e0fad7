#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/section.h"
#include "formats/json.h"
#include "formats/tokenizer_template.h"
#include "models/config/family.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"
#include "models/config/presets.h"
#include "models/model.h"
#include "models/weights/initialize.h"
#include "models/weights/weight_map.h"

namespace weft::models {

class SafetensorsShards;

/// Position embeddings, of most families.
std::vector<nn::PositionChoice> learned_positions(const ModelOptions& options);
/// All sines first, then all cosines.
std::vector<nn::PositionChoice> sinusoidal_positions(const ModelOptions& options);
/// RoPE with ModelOptions::rope.
std::vector<nn::PositionChoice> rotary_positions(const ModelOptions& options);

/// Definition of a family: one file, models/families/NAME.cpp, and one line in
/// models/config/family_table.cpp. The functions get options of this family; those that make
/// options need not set ModelOptions::family.
struct FamilyDefinition {
  std::string_view name = {};  // of `model.type`
  /// One for each possible norm placement, the usual first.
  std::vector<HfNames> hf_names = {};
  std::vector<HfHeadName> heads = {};  // with their suffixes in `architectures`
  FamilyCapabilities capabilities = {};

  /// Sizes and rates without a preset.
  std::function<ModelOptions()> defaults = {};
  /// May be absent.
  std::function<std::vector<Preset>()> presets = {};

  /// Reads the keys of `model:` other than preset and type; see models/config/shared_model_keys.h
  /// for those that stacks share. `base`: the init_from model, whose shapes may not change. Must
  /// also work for a section in documentation mode. Throws config::Error.
  std::function<void(config::Section& section, ModelOptions& options, const ModelOptions* base)>
      read_keys = {};

  /// Reads config.json except model_type, architectures and labels. The options have family, norm
  /// placement and head already; the values of absent keys are set first. Throws formats::Error.
  std::function<void(const JsonFields& fields, ModelOptions& options)> read_json = {};
  std::function<void(formats::Json& json, const ModelOptions& options)> write_json = {};
  /// generation_config.json of a model that generates; null JSON: no such file. May be absent.
  std::function<formats::Json(const ModelOptions& options)> generation_json = {};

  /// Sets options that follow from the weight files and are not in config.json. May be absent.
  std::function<void(ModelOptions& options, const SafetensorsShards& files)> infer_from_weights =
      {};

  /// All tensors of a model's file, in order of computation.
  std::function<std::vector<StoredTensor>(const ModelOptions& options)> tensors = {};
  /// Other names of a tensor in files of other versions. May be absent.
  std::function<std::vector<std::string>(const StoredTensor& tensor, const ModelOptions& options)>
      name_aliases = {};
  /// Name of the tensor in the modules of transformers, and so in adapters, where its files keep an
  /// older name. May be absent.
  std::function<std::string(const StoredTensor& tensor)> hf_module_name = {};
  /// Whether an unexpected tensor carries no information: a buffer or a tied copy. May be absent.
  std::function<bool(std::string_view name, const ModelOptions& options)> is_ignorable = {};

  /// Initializer of a matrix. Vectors are the same everywhere: norm scales one, others zero.
  std::function<Initializer(const std::string& parameter, const ModelOptions& options)>
      initializer = {};

  std::function<std::shared_ptr<Model>(const ModelOptions& options)> make = {};

  /// Template of a tokenizer trained for the family.
  formats::TokenizerTemplate style = formats::TokenizerTemplate::kBert;

  /// Human-readable sizes and their names, where these are not layers x dim. May be absent.
  std::function<std::vector<std::pair<std::string, std::string>>(const ModelOptions& options)>
      describe = {};

  /// Attention of a layer, where it is neither full nor a window. May be absent.
  std::function<nn::AttentionMaker(const ModelOptions& options, int64_t layer)> attention = {};

  /// Feed-forward of a layer, where it is not the standard one; those of a decoder are numbered
  /// after those of its encoder. May be absent.
  std::function<nn::FeedForwardMaker(const ModelOptions& options, int64_t layer)> feed_forward = {};

  std::string_view norm_type = "layer";  // of nn::norm_types()
  /// Types of nn::position_types(), as `config.json` of the family can express them.
  std::function<std::vector<nn::PositionChoice>(const ModelOptions& options)> positions =
      learned_positions;

  bool is_encoder_decoder = false;  // an encoder reads a second stream
  bool reads_images = false;
  bool is_baseline = false;  // not a transformer: has no layers, and classifies sequences only
};

template <class Kind>
std::shared_ptr<Model> construct(const ModelOptions& options) {
  return std::make_shared<Kind>(options);
}

/// Sizes of a model without layers, for texts of any length.
ModelOptions layerless_defaults();

/// Adds a family; call it before weft::run. A model_type of its own that transformers does not know
/// starts with `weft-`. Throws std::invalid_argument if the name or the model_type is taken.
void register_family(FamilyDefinition definition);

}  // namespace weft::models
