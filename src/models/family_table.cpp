#include <array>
#include <stdexcept>

#include "models/families/bart.h"
#include "models/families/deit.h"
#include "models/families/gpt2.h"
#include "models/families/gpt_neox.h"
#include "models/families/llama.h"
#include "models/families/t5.h"
#include "models/families/vit.h"
#include "models/family_definition.h"

namespace weft::models {

std::span<const FamilyDefinition* const> family_table() {
  static const std::array kTable = {
      &gpt2(), &llama(), &mistral(), &qwen2(),       &gpt_neox(), &t5(),   &mt5(),
      &bart(), &mbart(), &marian(),  &transformer(), &vit(),      &deit(),
  };
  return kTable;
}

const FamilyDefinition* find_definition(Family family) {
  for (const auto* definition : family_table()) {
    if (definition->facts.family == family) {
      return definition;
    }
  }
  return nullptr;
}

const FamilyDefinition& definition_of(Family family) {
  const auto* definition = find_definition(family);
  if (definition == nullptr) {
    throw std::logic_error("a family without a definition");
  }
  return *definition;
}

bool generates(const ModelOptions& options) {
  return options.head == Head::kCausalLm || options.head == Head::kConditional;
}

bool reads_source(const ModelOptions& options) {
  const auto* definition = find_definition(options.family);
  return definition != nullptr && definition->reads_source;
}

bool reads_images(const ModelOptions& options) {
  const auto* definition = find_definition(options.family);
  return definition != nullptr && definition->reads_images;
}

}  // namespace weft::models
