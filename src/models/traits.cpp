#include "models/traits.h"

#include <array>
#include <stdexcept>

#include "models/family_definition.h"

namespace weft::models {

namespace {

using kernels::Activation;

// arXiv:1810.04805, arXiv:1907.11692, arXiv:1911.02116, arXiv:1910.01108, arXiv:2003.10555,
// arXiv:2412.13663, and the published models where the papers are silent.
constexpr std::array kTraits = {
    FamilyTraits{.family = Family::kBert, .classifies_pooled = true},
    FamilyTraits{.family = Family::kRoberta,
                 .counts_from_pad = true,
                 .classifier_activation = Activation::kTanh,
                 .guess_activation = Activation::kGelu},
    FamilyTraits{.family = Family::kXlmRoberta,
                 .counts_from_pad = true,
                 .classifier_activation = Activation::kTanh,
                 .guess_activation = Activation::kGelu},
    FamilyTraits{.family = Family::kDistilBert,
                 .has_pooler = false,
                 .has_segments = false,
                 .has_own_dropouts = true,
                 .has_fixed_epsilon = true,
                 .classifier_activation = Activation::kRelu,
                 .drops_first = false},
    FamilyTraits{.family = Family::kElectra,
                 .has_pooler = false,
                 .projects_embeddings = true,
                 .classifier_activation = Activation::kGelu,
                 .guess_activation = Activation::kGelu},
    FamilyTraits{.family = Family::kModernBert,
                 .has_pooler = false,
                 .has_segments = false,
                 .drops_first = false},
    FamilyTraits{.family = Family::kBagOfWords, .has_pooler = false},
    FamilyTraits{.family = Family::kDecomposableAttention, .has_pooler = false},
};

}  // namespace

const FamilyTraits& traits_of(Family family) {
  if (const auto* definition = find_definition(family)) {
    return definition->traits;
  }
  for (const auto& traits : kTraits) {
    if (traits.family == family) {
      return traits;
    }
  }
  throw std::logic_error("a family without traits");
}

}  // namespace weft::models
