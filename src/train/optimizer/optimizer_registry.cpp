#include "train/optimizer/optimizer_registry.h"

#include <utility>
#include <vector>

#include "train/optimizer/optimizers/optimizers.h"

namespace weft::train {

namespace {

std::vector<OptimizerDefinition> built_in_optimizers() {
  return {
      adamw(),
      sgd(),
      lion(),
  };
}

VariantRegistry<OptimizerDefinition>& mutable_optimizer_registry() {
  static VariantRegistry<OptimizerDefinition> registry("optimizer", built_in_optimizers());
  return registry;
}

}  // namespace

const VariantRegistry<OptimizerDefinition>& optimizer_registry() {
  return mutable_optimizer_registry();
}

void register_optimizer(OptimizerDefinition definition) {
  mutable_optimizer_registry().add(std::move(definition));
}

}  // namespace weft::train
