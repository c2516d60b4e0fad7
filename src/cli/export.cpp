#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/model_output.h"
#include "cli/shared_options.h"
#include "data/tokenizer.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "models/layer_pruning.h"
#include "models/ngram/arpa.h"
#include "train/optimizer/lora_run.h"

namespace weft::cli {

namespace {

/// Writes only the adapter of a checkpoint, in PEFT's layout: adapter_model.safetensors and
/// adapter_config.json. Throws UserError if the checkpoint is not from a run with adapters.
void export_adapter(const std::string& checkpoint, const std::string& output) {
  const auto adapter = checkpoint + "/" + train::kAdapter;
  if (!std::filesystem::exists(adapter + "/adapter_config.json")) {
    throw UserError(
        str_cat(checkpoint, ": no adapter, must be a checkpoint of a run with train.lora.rank"));
  }
  write_directory(output, [&](const std::string& working) {
    for (const auto* name : {"adapter_model.safetensors", "adapter_config.json"}) {
      FileWriter copy(str_cat(working, "/", name), FileWriter::Mode::kPlain);
      copy.write(MappedFile(str_cat(adapter, "/", name)).text());
      copy.commit();
    }
  });
}

models::LoadedModel load_complete(const std::string& source) {
  auto loaded = models::load_model(source, models::read_model_config(source), 0);
  if (!loaded.missing_keys.empty()) {
    throw formats::Error(
        str_cat(source, ": ", loaded.missing_keys.front(), " is missing, nothing was exported"));
  }
  return loaded;
}

/// Applies --layers and --decoder-layers.
void prune(const Arguments& arguments, models::LoadedModel& loaded) {
  const auto& options = loaded.model->options();
  if (arguments.has("decoder-layers") && options.decoder.layers == 0) {
    throw UsageError(str_cat("weft export: --decoder-layers is for encoder-decoders, found ",
                             models::architecture_of(options)));
  }
  const auto layers = read_layers(arguments, "layers", options.layers);
  const auto decoder_layers = read_layers(arguments, "decoder-layers", options.decoder.layers);
  if (!layers.empty() || !decoder_layers.empty()) {
    loaded.model = models::prune_layers(*loaded.model, layers, decoder_layers);
  }
}

/// Writes an n-gram model as one text file.
void export_arpa(const Arguments& arguments) {
  for (const auto* option : {"dtype", "check", "adapter", "layers", "decoder-layers"}) {
    if (arguments.has(option)) {
      throw UsageError(str_cat("weft export: --format arpa: omit --", option));
    }
  }
  const auto output = arguments.get("output");
  if (output.empty() || std::filesystem::exists(output)) {
    throw UsageError(str_cat("weft export: --output ", output.empty() ? "FILE is required" : output,
                             output.empty() ? "" : " exists, choose a new file"));
  }
  const auto source = models::model_directory(arguments.positional()[0]);
  const auto loaded = load_complete(source);
  const auto tokenizer = data::load_tokenizer(source);
  std::vector<std::string> pieces(static_cast<std::size_t>(tokenizer->size()));
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    pieces[id] = tokenizer->piece(static_cast<int32_t>(id));
  }
  models::write_arpa(*loaded.model, pieces, tokenizer->special_token_ids().unk, output);
  log::info(str_cat("[export] ", source, " -> ", output, " in the ARPA format"));
  std::cout << output << "\n";
}

/// Applies --adapter.
void export_adapter(const Arguments& arguments,
                    const std::string& source,
                    const std::string& output) {
  for (const auto* option : {"dtype", "check", "layers", "decoder-layers"}) {
    if (arguments.has(option)) {
      throw UsageError(
          str_cat("weft export: --adapter copies the adapter unchanged: omit --", option));
    }
  }
  export_adapter(source, output);
  log::info(str_cat("[export] adapter of ", source, " -> ", output));
  std::cout << output << "\n";
}

void declare_export(Arguments& arguments) {
  arguments.value("output", "DIR", "Output directory; must be new or empty")
      .value("format", "FORMAT",
             "safetensors (default), or arpa: one file with an n-gram model, for KenLM and SRILM")
      .value("dtype", "DTYPE", "fp32 (default), bf16 or fp16")
      .value("layers", "LIST",
             "Keep only these layers, as in 0,2,4 or 0-3; of encoder-decoders those of the encoder")
      .value("decoder-layers", "LIST", "The same for the decoder of encoder-decoders")
      .flag("check", "Load the exported model and compare all tensors and the outputs")
      .flag("adapter", "For runs with LoRA: export only the adapter, in fp32 and PEFT format");
}

}  // namespace

int run_export(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage =
           "weft export MODEL --output DIR [--dtype fp32|bf16|fp16] [--check] [--layers LIST]\n"
           "       weft export MODEL --output DIR --adapter\n"
           "       weft export MODEL --output FILE --format arpa",
       .description =
           "Writes a model directory without training state: config.json, model.safetensors and "
           "tokenizer. MODEL is a run directory, a checkpoint or a Hugging Face directory.",
       .examples = {"weft export runs/quickstart/spam --output spam-model --dtype bf16 --check",
                    "weft export runs/layerdrop --output shallow --layers 0,2,4,6",
                    "weft export runs/lora --output spam-adapter --adapter",
                    "weft export runs/ngram --output model.arpa --format arpa"}},
      1, 1);
  declare_export(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  if (arguments.choice("format", false, {{"safetensors", false}, {"arpa", true}})) {
    export_arpa(arguments);
    return 0;
  }
  const auto output = read_output(arguments, "export");
  const auto dtype = read_dtype(arguments);
  const auto source = models::model_directory(arguments.positional()[0]);
  if (arguments.has("adapter")) {
    export_adapter(arguments, source, output);
    return 0;
  }
  auto loaded = load_complete(source);
  prune(arguments, loaded);
  std::string checked;
  write_directory(output, [&](const std::string& working) {
    copy_auxiliary_files(source, working, *loaded.model);
    models::save_model(working, *loaded.model, dtype);
    write_generator(source, working, *loaded.model, dtype);
    if (arguments.has("check")) {
      const double gap = check_written(working, *loaded.model, dtype);
      checked = str_cat(", reloaded and compared: outputs differ by at most ", gap,
                        " of the largest value");
    }
  });
  log::info(str_cat("[export] ", source, " -> ", output, " in ", arguments.get("dtype", "fp32"),
                    checked));
  if (!models::is_known_to_transformers(loaded.model->options())) {
    log::info("[export] transformers has no such model: only Weft can load it");
  }
  std::cout << output << "\n";
  return 0;
}

}  // namespace weft::cli
