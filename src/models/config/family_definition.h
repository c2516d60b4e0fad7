#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "formats/json.h"
#include "formats/special_style.h"
#include "models/config/family.h"
#include "models/config/json_fields.h"
#include "models/config/options.h"
#include "models/config/presets.h"
#include "models/config/traits.h"
#include "models/model.h"
#include "models/weights/initial_values.h"
#include "models/weights/names.h"

namespace weft::models {

class WeightFiles;

/// What makes a family: one file, models/families/NAME.cpp, and one line in
/// models/family_table.cpp.
struct FamilyDefinition {
  std::string_view word;  // of `model.type`
  FamilyFacts facts;
  std::optional<FamilyFacts> other_facts = {};  // where its norms may stand in the other place too
  std::vector<HeadFacts> heads = {};  // its heads, and how their names in `architectures` end
  FamilyTraits traits;

  /// Sizes and rates when no preset is named. (Absent keys of config.json: read_json's to set.)
  ModelOptions (*defaults)() = nullptr;
  /// May be absent.
  std::vector<Preset> (*presets)() = nullptr;

  /// The keys of `model:` beside preset and type; see models/stack_keys.h for those that stacks
  /// share. `base`: what init_from brings, with which shapes may not differ. Must also do for a
  /// section that describes. Throws config::Error.
  void (*read_keys)(config::Section& section,
                    ModelOptions& options,
                    const ModelOptions* base) = nullptr;

  /// config.json beside model_type, architectures and labels. Options come with family, norm place
  /// and head; what absent keys mean is set first. Throws formats::Error.
  void (*read_json)(const JsonFields& fields, ModelOptions& options) = nullptr;
  void (*write_json)(formats::Json& json, const ModelOptions& options) = nullptr;
  /// generation_config.json of a model that generates; null JSON: no such file. May be absent.
  formats::Json (*generation_json)(const ModelOptions& options) = nullptr;

  /// What the weight files tell and config.json does not. May be absent.
  void (*look_at_files)(ModelOptions& options, const WeightFiles& files) = nullptr;

  /// All tensors of a model's file, in the order of computation.
  std::vector<StoredTensor> (*tensors)(const ModelOptions& options) = nullptr;
  /// Further names of a tensor in files of other times. May be absent.
  std::vector<std::string> (*spellings)(const StoredTensor& tensor,
                                        const ModelOptions& options) = nullptr;
  /// What transformers calls the tensor in its modules, and adapters with them, where its files
  /// keep an older name. May be absent.
  std::string (*name_in_module)(const StoredTensor& tensor) = nullptr;
  /// Tensors of files that no parameter asks for and that say nothing: buffers, tied copies. May be
  /// absent.
  bool (*is_harmless)(std::string_view name, const ModelOptions& options) = nullptr;

  /// How a matrix begins; vectors begin as everywhere: scales of norms at one, others at zero.
  InitialValues (*initial)(const std::string& parameter, const ModelOptions& options) = nullptr;

  std::shared_ptr<Model> (*make)(const ModelOptions& options) = nullptr;

  /// Of a tokenizer that is trained for it.
  formats::SpecialStyle style = formats::SpecialStyle::kBert;

  bool reads_source = false;  // an encoder reads a second stream
  bool reads_images = false;
  /// As BERT: its embeddings end in a norm, the head that guesses words transforms first, and
  /// classifiers look at the first token.
  bool ends_like_bert = false;
};

template <class Kind>
std::shared_ptr<Model> construct(const ModelOptions& options) {
  return std::make_shared<Kind>(options);
}

/// All families, in the order in which they are shown.
std::span<const FamilyDefinition* const> family_table();

const FamilyDefinition& definition_of(Family family);

/// What a family has, or false: of its definition.
bool generates(const ModelOptions& options);     // has a head that gives tokens left to right
bool reads_source(const ModelOptions& options);  // is an encoder-decoder
bool reads_images(const ModelOptions& options);

}  // namespace weft::models
