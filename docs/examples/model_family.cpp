// The program `weft` with a model family of our own, `model.type: relu_gpt`: GPT-2 with ReLU, which
// makes activations sparse (arXiv:2310.04564). A family of
// your own may also have its own config keys, tensors and model class: FamilyDefinition has a
// function for each.
//
//   model: {type: relu_gpt, dim: 256}
#include "cli/run.h"
#include "models/config/family_definition.h"

namespace {

namespace models = weft::models;

models::ModelOptions relu_gpt_defaults() {
  auto options = models::family_defaults(models::family_named("gpt2"));
  options.activation = weft::kernels::Activation::kRelu;
  return options;
}

/// GPT-2, except for its names and defaults. A model_type that begins with `weft-` tells other
/// programs that they cannot load the model.
models::FamilyDefinition relu_gpt() {
  auto definition = *models::family_named("gpt2");
  definition.name = "relu_gpt";
  definition.hf_names = {
      {models::NormPlacement::kPre, "weft-relu-gpt", "transformer", "WeftReluGpt"}};
  definition.defaults = relu_gpt_defaults;
  definition.presets = [] {
    return std::vector<models::Preset>{
        {"relu-gpt-mini", models::sized(relu_gpt_defaults(), {4, 256, 4})}};
  };
  return definition;
}

}  // namespace

int main(int argc, char** argv) {
  models::register_family(relu_gpt());
  return weft::run(argc, argv);
}
