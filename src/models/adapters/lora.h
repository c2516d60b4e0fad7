#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "models/adapters/lora_options.h"
#include "models/directory.h"
#include "models/model.h"
#include "models/weights/weight_map.h"

namespace weft::models {

/// Adapters of a model (arXiv:2106.09685).
struct Lora {
  LoraOptions options;
  std::vector<LoraLayer> layers;
  std::set<Part> modules_to_save;  // parts that are trained in full with the adapters
  std::string base;                // directory of the frozen base weights
};

/// Attaches adapters to the model and freezes everything else except `modules_to_save`. A is drawn
/// from U(-1/sqrt(D), 1/sqrt(D)) as in PEFT (Kaiming, a = sqrt 5), a pure function of (seed, name);
/// B is zero-initialised, so the adapter starts as the identity.
void attach_lora(Model& model, const Lora& lora, uint64_t seed);

/// Returns the parts to train in full: those named in the options and those with missing weights.
/// Throws std::invalid_argument where such a part exists and the head is not a classifier.
std::set<Part> modules_to_save_of(const ModelOptions& model,
                                  const LoraOptions& options,
                                  const std::vector<std::string>& missing_keys);

/// Returns a source that adds the adapters' products to the matrices they belong to, in fp32; other
/// parameters are those of `source`.
ParameterSource merged(const Lora& lora, const ParameterSource& source);

/// Writes adapter_model.safetensors and adapter_config.json as PEFT does, not atomically.
void save_adapter(const std::string& directory,
                  const ModelOptions& model,
                  const Lora& lora,
                  const ParameterSource& source);

/// Writes what merged weights lack to one file: the adapters and the frozen rows under them.
void save_lora_state(const std::string& path, const Lora& lora, const ParameterSource& source);
/// Loads that file into a model whose adapters are attached. Throws formats::Error.
void load_lora_state(const std::string& path, Model& model, const Lora& lora);
/// Parts that were trained in full, from the same file.
std::set<Part> read_modules_to_save(const std::string& path);

}  // namespace weft::models
