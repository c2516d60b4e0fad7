#include "train/optimizer/optimizer_registry.h"

#include <utility>
#include <vector>

#include "base/string_util.h"

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

void read_betas(config::Section& section, std::array<double, 2>& betas, std::string_view help) {
  std::vector<double> values(betas.begin(), betas.end());
  section.read("betas", values, {.help = help, .range = config::half_open(0, 1)});
  if (values.size() != betas.size()) {
    section.fail("betas", str_cat("a list of ", values.size(), ", must have 2 numbers"));
  }
  betas = {values[0], values[1]};
}

}  // namespace weft::train
