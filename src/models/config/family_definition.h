#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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
#include "models/config/traits.h"
#include "models/model.h"
#include "models/weights/initializer.h"
#include "models/weights/weight_map.h"

namespace weft::models {

class SafetensorsShards;

/// Definition of a family: one file, models/families/NAME.cpp, and one line in
/// models/config/family_table.cpp.
struct FamilyDefinition {
  std::string_view name;  // of `model.type`
  HfNames hf_names;
  std::optional<HfNames> other_hf_names = {};  // where the other norm placement is possible too
  std::vector<HfHeadName> heads = {};          // with their suffixes in `architectures`
  FamilyCapabilities capabilities;

  /// Sizes and rates without a preset. (read_json sets the values of absent config.json keys.)
  ModelOptions (*defaults)() = nullptr;
  /// May be absent.
  std::vector<Preset> (*presets)() = nullptr;

  /// Reads the keys of `model:` other than preset and type; see models/config/shared_model_keys.h
  /// for those that stacks share. `base`: the init_from model, whose shapes may not change. Must
  /// also work for a section in documentation mode. Throws config::Error.
  void (*read_keys)(config::Section& section,
                    ModelOptions& options,
                    const ModelOptions* base) = nullptr;

  /// Reads config.json except model_type, architectures and labels. The options have family, norm
  /// placement and head already; the values of absent keys are set first. Throws formats::Error.
  void (*read_json)(const JsonFields& fields, ModelOptions& options) = nullptr;
  void (*write_json)(formats::Json& json, const ModelOptions& options) = nullptr;
  /// generation_config.json of a model that generates; null JSON: no such file. May be absent.
  formats::Json (*generation_json)(const ModelOptions& options) = nullptr;

  /// Sets options that follow from the weight files and are not in config.json. May be absent.
  void (*infer_from_weights)(ModelOptions& options, const SafetensorsShards& files) = nullptr;

  /// All tensors of a model's file, in order of computation.
  std::vector<StoredTensor> (*tensors)(const ModelOptions& options) = nullptr;
  /// Other names of a tensor in files of other versions. May be absent.
  std::vector<std::string> (*name_aliases)(const StoredTensor& tensor,
                                           const ModelOptions& options) = nullptr;
  /// Name of the tensor in the modules of transformers, and so in adapters, where its files keep an
  /// older name. May be absent.
  std::string (*hf_module_name)(const StoredTensor& tensor) = nullptr;
  /// Whether an unexpected tensor carries no information: a buffer or a tied copy. May be absent.
  bool (*is_ignorable)(std::string_view name, const ModelOptions& options) = nullptr;

  /// Initializer of a matrix. Vectors are the same everywhere: norm scales one, others zero.
  Initializer (*initializer)(const std::string& parameter, const ModelOptions& options) = nullptr;

  std::shared_ptr<Model> (*make)(const ModelOptions& options) = nullptr;

  /// Template of a tokenizer trained for the family.
  formats::TokenizerTemplate style = formats::TokenizerTemplate::kBert;

  /// Human-readable sizes and their names, where these are not layers x dim. May be absent.
  std::vector<std::pair<std::string, std::string>> (*describe)(const ModelOptions& options) =
      nullptr;

  bool is_encoder_decoder = false;  // an encoder reads a second stream
  bool reads_images = false;
  /// As BERT: embeddings end in a norm, the MLM head starts with a transform, and classifiers read
  /// the first token.
  bool uses_bert_head = false;
  bool is_baseline = false;  // not a transformer: has no layers, and classifies sequences only
};

template <class Kind>
std::shared_ptr<Model> construct(const ModelOptions& options) {
  return std::make_shared<Kind>(options);
}

/// All families, in display order.
std::span<const FamilyDefinition* const> family_table();

const FamilyDefinition& definition_of(Family family);

/// Properties of the definitions of family and head.
bool generates(const ModelOptions& options);           // has a head that generates left to right
bool is_encoder_decoder(const ModelOptions& options);  // is an encoder-decoder
bool reads_images(const ModelOptions& options);
bool is_baseline(Family family);

}  // namespace weft::models
