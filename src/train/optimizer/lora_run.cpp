#include "train/optimizer/lora_run.h"

#include <filesystem>
#include <stdexcept>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "models/directory.h"

namespace weft::train {

namespace {

constexpr auto kState = "/training/lora.safetensors";

void log_lora(const models::Lora& lora) {
  int64_t parameters = 0;
  for (const auto& layer : lora.layers) {
    parameters += lora.options.rank * (layer.rows + layer.columns);
  }
  std::vector<std::string> whole;
  for (const auto part : lora.modules_to_save) {
    whole.emplace_back(part == models::Part::kPooler ? "pooler" : "head");
  }
  log::info(
      str_cat("[model] LoRA adapters with rank ", lora.options.rank, " on ", lora.layers.size(),
              " frozen matrices, ", with_commas(parameters),
              " parameters; fully trained modules: ", whole.empty() ? "nothing" : join(whole)));
}

/// Base model directory that PEFT can open; for a run, its model. It may be gone on resume.
std::string base_of(const RunConfig& config) {
  const auto base = config.init_from.value_or("");
  return std::filesystem::exists(base) ? models::model_directory(base) : base;
}

}  // namespace

std::optional<models::Lora> prepare_lora(const RunConfig& config,
                                         const models::LoadedModel& loaded,
                                         const std::optional<std::string>& checkpoint) {
  if (!config.train.lora) {
    return std::nullopt;
  }
  auto& model = *loaded.model;
  models::Lora lora{.options = *config.train.lora, .layers = {}, .modules_to_save = {}, .base = {}};
  try {
    lora.layers = models::lora_layers(model.options(), lora.options);
    lora.modules_to_save =
        checkpoint ? models::read_modules_to_save(*checkpoint + kState)
                   : models::modules_to_save_of(model.options(), lora.options, loaded.missing_keys);
  } catch (const std::invalid_argument& error) {
    throw UserError(str_cat("train.lora: ", error.what()));
  }
  lora.base = base_of(config);
  models::attach_lora(model, lora, static_cast<uint64_t>(config.run.seed));
  if (checkpoint) {
    models::load_lora_state(*checkpoint + kState, model, lora);
  }
  log_lora(lora);
  return lora;
}

void write_lora(const std::string& checkpoint,
                const models::ModelOptions& model,
                const models::Lora& lora,
                const models::ParameterSource& source) {
  const auto adapter = checkpoint + "/" + kAdapter;
  models::save_adapter(adapter, model, lora, source);
  models::save_lora_state(checkpoint + kState, lora, source);
  flush_directory(adapter);
}

}  // namespace weft::train
