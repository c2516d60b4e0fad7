#include "models/config/shared_model_keys.h"
#include "models/families/families.h"
#include "models/families/llama_kind.h"

namespace weft::models {

namespace {

using llama_family::JsonKeys;
using llama_family::sized_decoder;

ModelOptions mistral_defaults() {
  auto options = llama_family::defaults();
  options.window.size = 4096;
  return options;
}

ModelOptions qwen2_defaults() {
  auto options = llama_family::defaults();
  options.biases.attention = true;
  return options;
}

ModelOptions tied(ModelOptions options) {
  options.tie_word_embeddings = true;
  return options;
}

ModelOptions turned(ModelOptions options, double theta) {
  options.rope.theta = theta;
  return options;
}

/// Llama 3.1 and later, with scaled rotary positions.
ModelOptions stretched(ModelOptions options, double factor) {
  options.rope.theta = 500'000;
  options.rope.scaling = {.type = kernels::RotaryScalingType::kLlama3, .factor = factor};
  return options;
}

std::vector<Preset> llama_presets() {
  const auto begin = llama_family::defaults();
  return {
      {"llama-mini", tied(sized_decoder(begin, {4, 256, 4, 2, 688, 512}))},
      {"smollm-135m", tied(sized_decoder(begin, {30, 576, 9, 3, 1536, 2048}))},
      {"tinyllama-1.1b", sized_decoder(begin, {22, 2048, 32, 4, 5632, 2048})},
      {"llama-2-7b", sized_decoder(begin, {32, 4096, 32, 32, 11008, 4096})},
      {"llama-3.2-1b", tied(stretched(sized_decoder(begin, {16, 2048, 32, 8, 8192, 131072}), 32))}};
}

std::vector<Preset> mistral_presets() {
  return {{"mistral-7b", sized_decoder(mistral_defaults(), {32, 4096, 32, 8, 14336, 32768})}};
}

std::vector<Preset> qwen2_presets() {
  auto options = turned(sized_decoder(qwen2_defaults(), {24, 896, 14, 2, 4864, 131072}), 1'000'000);
  options.norm_epsilon = 1e-6;
  return {{"qwen2-0.5b", tied(options)}};
}

void read_llama_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  auto keys = llama_family::kKeys;
  keys.has_biases = true;
  read_shared_model_keys(section, options, base, keys);
  options.biases.attention_output = options.biases.attention;
}

void read_mistral_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  auto keys = llama_family::kKeys;
  keys.has_window = true;
  read_shared_model_keys(section, options, base, keys);
}

void read_qwen2_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_shared_model_keys(section, options, base, llama_family::kKeys);
}

constexpr JsonKeys kLlamaJson = {
    .defaults = llama_family::defaults, .width = 11008, .length = 2048, .has_biases = true};
constexpr JsonKeys kMistralJson = {
    .defaults = mistral_defaults, .key_value_heads = 8, .has_window = true};
constexpr JsonKeys kQwen2Json = {.defaults = qwen2_defaults,
                                 .vocabulary = 151936,
                                 .width = 22016,
                                 .length = 32768,
                                 .bos_id = -1,
                                 .eos_id = -1,
                                 .has_window = true,
                                 .has_partial_window = true,
                                 .always_has_head_dim = false};

}  // namespace

FamilyDefinition llama() {
  auto made =
      llama_family::definition({NormPlacement::kPre, "llama", "model", "Llama"}, kLlamaJson);
  made.presets = llama_presets;
  made.read_keys = read_llama_keys;
  return made;
}

FamilyDefinition mistral() {
  auto made =
      llama_family::definition({NormPlacement::kPre, "mistral", "model", "Mistral"}, kMistralJson);
  made.presets = mistral_presets;
  made.read_keys = read_mistral_keys;
  return made;
}

FamilyDefinition qwen2() {
  auto made =
      llama_family::definition({NormPlacement::kPre, "qwen2", "model", "Qwen2"}, kQwen2Json);
  made.presets = qwen2_presets;
  made.read_keys = read_qwen2_keys;
  made.style = formats::TokenizerTemplate::kQwen2;
  return made;
}

}  // namespace weft::models
