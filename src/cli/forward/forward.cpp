#include "cli/forward/forward.h"

#include <map>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "batching/model_inputs.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "models/directory.h"
#include "models/weights/tensors.h"
#include "models/weights/weight_map.h"

namespace weft::cli {

namespace {

using Named = std::map<std::string, at::Tensor>;

/// Adds gradients of the loss under the parameter names of the file; zero where the loss does not
/// depend on a parameter.
void add_gradients(Named& outputs, const models::LoadedModel& loaded, const std::string& input) {
  const auto loss = outputs.find("loss");
  if (loss == outputs.end()) {
    throw UserError(input + ": no targets and therefore no loss: omit --gradients or add `labels`");
  }
  loss->second.backward();
  const auto parameters = loaded.model->named_parameters();
  for (const auto& stored : loaded.loaded_tensors) {
    const auto& parameter = parameters[stored.tensor.parameter];
    const auto whole = parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter);
    outputs["gradient." + stored.name] =
        models::to_file_layout(models::rows_of(whole, stored.tensor), stored.tensor);
  }
}

void write(const std::string& path, Named& outputs) {
  std::vector<formats::NamedTensor> views;
  for (auto& [name, tensor] : outputs) {
    tensor = models::to_dtype(tensor, formats::DType::kF32);
    views.push_back({name, models::view_of(tensor)});
  }
  formats::write_safetensors(path, views);
}

}  // namespace

int run_forward(std::vector<std::string> arguments) {
  Arguments given(
      {.usage = "weft forward MODEL --input FILE --output FILE [--gradients]",
       .description =
           "Runs one forward pass on tensors from a safetensors file, in fp32 and without dropout, "
           "and writes the outputs. Tensor names follow transformers. Inputs: input_ids, "
           "attention_mask, token_type_ids (xlm: langs and position_ids), labels. Outputs: logits, "
           "last_hidden_state, loss. Decoders also accept prefix_lengths: the number of first "
           "tokens of each sequence with bidirectional attention (prefix LM).",
       .examples = {"weft forward runs/bert-mini --input in.safetensors --output "
                    "out.safetensors --gradients"}},
      1, 1);
  given.value("input", "FILE", "safetensors file with the inputs")
      .value("output", "FILE", "safetensors file for the outputs")
      .flag("gradients", "Also write gradient.NAME for every parameter");
  if (!given.parse(arguments)) {
    return 0;
  }
  for (const auto* name : {"input", "output"}) {
    if (!given.has(name)) {
      throw UsageError(std::string("weft forward: --") + name + " is missing");
    }
  }
  const auto directory = models::model_directory(given.positional().front());
  const auto options = models::read_model_config(directory);
  batching::reject_documents(options, "forward");
  const ForwardInputs inputs(given.get("input"), options);
  const auto loaded = models::load_model(directory, options, 0);
  const at::AutoGradMode mode(given.has("gradients"));
  auto outputs = forward_pass(*loaded.model, inputs);
  if (given.has("gradients")) {
    add_gradients(outputs, loaded, inputs.path());
  }
  write(given.get("output"), outputs);
  return 0;
}

}  // namespace weft::cli
