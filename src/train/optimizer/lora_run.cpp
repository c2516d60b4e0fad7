#include "train/optimizer/lora_run.h"

#include <filesystem>
#include <stdexcept>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "models/directory.h"

namespace weft::train {

namespace {

constexpr auto kState = "/training/lora.safetensors";

void log_lora(const models::Lora& lora) {
  int64_t parameters = 0;
  for (const auto& site : lora.sites) {
    parameters += lora.options.rank * (site.rows + site.columns);
  }
  std::vector<std::string> whole;
  for (const auto part : lora.whole) {
    whole.emplace_back(part == models::Part::kPooler ? "pooler" : "head");
  }
  log::info(text("[model] adapters of rank ", lora.options.rank, " beside ", lora.sites.size(),
                 " frozen matrices, ", with_commas(parameters),
                 " parameters; trained whole: ", whole.empty() ? "nothing" : join(whole)));
}

/// The directory that PEFT can open: of a run its model. It may be gone by the time a run goes on.
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
  models::Lora lora{.options = *config.train.lora, .sites = {}, .whole = {}, .base = {}};
  try {
    lora.sites = models::lora_sites(model.options(), lora.options);
    lora.whole = checkpoint ? models::read_whole_parts(*checkpoint + kState)
                            : models::whole_parts(model.options(), lora.options, loaded.fresh);
  } catch (const std::invalid_argument& error) {
    throw UserError(text("train.lora: ", error.what()));
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
