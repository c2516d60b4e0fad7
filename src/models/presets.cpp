#include "models/presets.h"

#include "models/baseline_config.h"
#include "models/family_definition.h"
#include "models/modern.h"
#include "models/traits.h"

namespace weft::models {

namespace {

struct Size {
  int64_t layers;
  int64_t dim;
  int64_t heads;
};

ModelOptions sized(Family family, const Size& size) {
  auto options = family_defaults(family);
  options.layers = size.layers;
  options.dim = size.dim;
  options.heads = size.heads;
  options.width = 4 * size.dim;
  return options;
}

ModelOptions modern(const Size& size, int64_t width) {
  auto options = sized(Family::kModernBert, size);
  options.width = width;
  return options;
}

/// ELECTRA's generators keep the embeddings of their discriminators and are narrower.
ModelOptions electra(const Size& size, int64_t embedding) {
  auto options = sized(Family::kElectra, size);
  options.embedding_dim = embedding;
  return options;
}

std::vector<Preset> with_definitions(std::vector<Preset> presets) {
  for (const auto* definition : family_table()) {
    for (auto& preset : definition->presets()) {
      presets.push_back(std::move(preset));
    }
  }
  return presets;
}

}  // namespace

ModelOptions family_defaults(Family family) {
  if (const auto* definition = find_definition(family)) {
    return definition->defaults();
  }
  if (is_baseline(family)) {
    return baseline_defaults(family);
  }
  if (is_modern(family)) {
    return modern_defaults();
  }
  ModelOptions options;
  options.family = family;
  const auto& traits = traits_of(family);
  if (traits.counts_from_pad) {  // arXiv:1907.11692 and its published models
    options.segments = 1;
    options.norm_epsilon = 1e-5;
    options.pad_id = 1;
  }
  if (!traits.has_segments) {
    options.segments = 0;
  }
  if (family == Family::kDistilBert) {
    options.layers = 6;
  }
  return options;
}

const std::vector<Preset>& presets() {
  // BERT: arXiv:1810.04805 (base, large) and arXiv:1908.08962 (the small ones); RoBERTa:
  // arXiv:1907.11692; XLM-RoBERTa: arXiv:1911.02116; DistilBERT and DistilRoBERTa:
  // arXiv:1910.01108; ELECTRA: arXiv:2003.10555, sizes of the files that its authors published;
  // ModernBERT: arXiv:2412.13663.
  static const std::vector<Preset> kPresets = with_definitions({
      {"bert-tiny", sized(Family::kBert, {2, 128, 2})},
      {"bert-mini", sized(Family::kBert, {4, 256, 4})},
      {"bert-small", sized(Family::kBert, {4, 512, 8})},
      {"bert-medium", sized(Family::kBert, {8, 512, 8})},
      {"bert-base", sized(Family::kBert, {12, 768, 12})},
      {"bert-large", sized(Family::kBert, {24, 1024, 16})},
      {"roberta-tiny", sized(Family::kRoberta, {2, 128, 2})},
      {"roberta-mini", sized(Family::kRoberta, {4, 256, 4})},
      {"roberta-small", sized(Family::kRoberta, {4, 512, 8})},
      {"roberta-base", sized(Family::kRoberta, {12, 768, 12})},
      {"roberta-large", sized(Family::kRoberta, {24, 1024, 16})},
      {"distilroberta-base", sized(Family::kRoberta, {6, 768, 12})},
      {"xlm-roberta-base", sized(Family::kXlmRoberta, {12, 768, 12})},
      {"xlm-roberta-large", sized(Family::kXlmRoberta, {24, 1024, 16})},
      {"distilbert-base", sized(Family::kDistilBert, {6, 768, 12})},
      {"electra-small", electra({12, 256, 4}, 128)},
      {"electra-base", electra({12, 768, 12}, 0)},
      {"electra-large", electra({24, 1024, 16}, 0)},
      {"electra-small-generator", electra({12, 256, 4}, 128)},
      {"electra-base-generator", electra({12, 256, 4}, 768)},
      {"electra-large-generator", electra({24, 256, 4}, 1024)},
      {"modernbert-base", modern({22, 768, 12}, 1152)},
      {"modernbert-large", modern({28, 1024, 16}, 2624)},
  });
  return kPresets;
}

}  // namespace weft::models
