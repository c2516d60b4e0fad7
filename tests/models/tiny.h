#pragma once

#include <vector>

#include "kernels/layout.h"
#include "models/config/family.h"
#include "models/config/modern.h"
#include "models/config/options.h"
#include "models/config/traits.h"
#include "models/model.h"

namespace weft::test {

/// All but the baselines, which have one head only.
inline std::vector<models::Family> transformers() {
  std::vector<models::Family> result;
  for (const auto& [word, family] : models::families()) {
    if (models::has_head(family, models::Head::kMaskedLm)) {
      result.push_back(family);
    }
  }
  return result;
}

/// The smallest model in which everything happens.
inline models::ModelOptions tiny_options(models::Family family = models::Family::kBert,
                                         models::Head head = models::Head::kMaskedLm) {
  models::ModelOptions options;
  options.family = family;
  options.head = head;
  options.vocabulary = 20;
  options.dim = 8;
  options.layers = 2;
  options.heads = 2;
  options.width = 12;
  options.length = 10;
  const auto& traits = models::traits_of(family);
  options.segments = !traits.has_segments ? 0 : traits.counts_from_pad ? 1 : 2;
  options.pad_id = traits.counts_from_pad ? 1 : 0;
  options.embedding_dim = traits.projects_embeddings ? 4 : 0;
  if (models::is_modern(family)) {
    options.norm_place = models::NormPlace::kPre;
    options.modern = models::modern_defaults().modern;
    options.modern.window = 4;
    options.modern.full_every = 2;
  }
  if (traits.tells_languages) {
    options.xlm.languages = {"de", "en"};
    options.xlm.embedding_deviation = 0.2;
    options.width = 4 * options.dim;
  }
  options.deviation = 0.2;
  if (head == models::Head::kSequence || head == models::Head::kToken) {
    options.labels = {"no", "perhaps", "yes"};
  }
  return options;
}

inline nn::Pass pass_of(std::vector<int64_t> offsets) {
  nn::Pass pass;
  pass.layout = kernels::Layout::of(std::move(offsets), at::kCPU);
  return pass;
}

}  // namespace weft::test
