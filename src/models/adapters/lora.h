#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "models/adapters/lora_options.h"
#include "models/directory.h"
#include "models/model.h"
#include "models/weights/names.h"

namespace weft::models {

/// The adapters that a model carries (arXiv:2106.09685).
struct Lora {
  LoraOptions options;
  std::vector<LoraSite> sites;
  std::set<Part> whole;  // parts that are trained beside them
  std::string base;      // the directory that the frozen weights come from
};

/// Puts adapters into the model and freezes all else but the parts in `whole`: A drawn from
/// U(-1/sqrt(D), 1/sqrt(D)) as PEFT does (Kaiming, a = sqrt 5), a pure function of (seed, name); B
/// zero, so that nothing changes at first. Throws std::invalid_argument as lora_sites does.
void attach_lora(Model& model, const Lora& lora, uint64_t seed);

/// The parts to train whole: those that the options name and those that came without weights.
/// Throws std::invalid_argument where the head is not one of classes.
std::set<Part> whole_parts(const ModelOptions& model,
                           const LoraOptions& options,
                           const std::vector<std::string>& fresh);

/// Gives a matrix that carries adapters with their products added, in fp32; other parameters as
/// `source` gives them.
ParameterSource merged(const Lora& lora, const ParameterSource& source);

/// The adapter in PEFT's layout, adapter_model.safetensors and adapter_config.json, plainly.
void save_adapter(const std::string& directory,
                  const ModelOptions& model,
                  const Lora& lora,
                  const ParameterSource& source);

/// What merged weights do not tell, in one file: the adapters and the frozen rows beside them.
void save_lora_state(const std::string& path, const Lora& lora, const ParameterSource& source);
/// Brings them back into a model whose adapters are attached. Throws formats::Error.
void load_lora_state(const std::string& path, Model& model, const Lora& lora);
/// The parts that were trained whole, from the same file.
std::set<Part> read_whole_parts(const std::string& path);

}  // namespace weft::models
