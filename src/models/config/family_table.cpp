#include <array>
#include <stdexcept>

#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/families/bart.h"
#include "models/families/baselines.h"
#include "models/families/bert.h"
#include "models/families/deit.h"
#include "models/families/gpt2.h"
#include "models/families/gpt_neox.h"
#include "models/families/llama.h"
#include "models/families/t5.h"
#include "models/families/vit.h"
#include "models/families/xlm.h"

namespace weft::models {

std::span<const FamilyDefinition* const> family_table() {
  static const std::array kTable = {
      &bert(),     &roberta(),    &xlm_roberta(),  &distilbert(),
      &electra(),  &modernbert(), &bag_of_words(), &decomposable_attention(),
      &gpt2(),     &llama(),      &mistral(),      &qwen2(),
      &gpt_neox(), &t5(),         &mt5(),          &bart(),
      &mbart(),    &marian(),     &transformer(),  &vit(),
      &deit(),     &xlm(),
  };
  return kTable;
}

const FamilyDefinition& definition_of(Family family) {
  for (const auto* definition : family_table()) {
    if (definition->hf_names.family == family) {
      return *definition;
    }
  }
  throw std::logic_error("a family without a definition");
}

const FamilyCapabilities& capabilities_of(Family family) {
  return definition_of(family).capabilities;
}

ModelOptions family_defaults(Family family) { return definition_of(family).defaults(); }

bool generates(const ModelOptions& options) { return head_of(options).generates; }

bool is_encoder_decoder(const ModelOptions& options) {
  return definition_of(options.family).is_encoder_decoder;
}

bool reads_images(const ModelOptions& options) {
  return definition_of(options.family).reads_images;
}

bool is_baseline(Family family) { return definition_of(family).is_baseline; }

}  // namespace weft::models
