#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/model_output.h"
#include "data/tokenizer.h"
#include "models/adapters/adapter_reader.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/directory.h"
#include "objectives/evaluation/decision_threshold.h"
#include "train/step/run_components.h"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

/// The head of --head, one that the family has; without the option the stored one.
models::Head read_head(const Arguments& arguments, const models::ModelOptions& stored) {
  std::vector<std::pair<std::string_view, models::Head>> allowed;
  for (const auto& definition : models::head_table()) {
    if (models::has_head(stored.family, definition.head)) {
      allowed.emplace_back(definition.name, definition.head);
    }
  }
  return arguments.choice("head", stored.head, allowed);
}

std::vector<std::string> head_names() {
  std::vector<std::string> names;
  for (const auto& definition : models::head_table()) {
    names.emplace_back(definition.name);
  }
  return names;
}

/// Names of a family's heads that have classes.
std::vector<std::string> heads_with_classes(models::Family family) {
  std::vector<std::string> names;
  for (const auto& definition : models::head_table()) {
    if (models::has_head(family, definition.head) && definition.has_classes()) {
      names.emplace_back(definition.name);
    }
  }
  return names;
}

std::vector<std::string> read_labels(const Arguments& arguments) {
  std::vector<std::string> labels;
  const auto given = arguments.get("labels");
  for (std::size_t begin = 0; begin <= given.size();) {
    const auto end = std::min(given.find(',', begin), given.size());
    labels.push_back(given.substr(begin, end - begin));
    if (labels.back().empty() || std::count(labels.begin(), labels.end(), labels.back()) > 1) {
      throw UsageError(str_cat("weft import: --labels: '", given,
                               "': expected comma-separated names without duplicates"));
    }
    begin = end + 1;
  }
  return labels;
}

/// Stored options, with the head and the classes requested on the command line.
models::ModelOptions wanted_options(const Arguments& arguments,
                                    const models::ModelOptions& stored) {
  auto options = stored;
  options.head = read_head(arguments, stored);
  const bool has_classes = models::head_of(options).has_classes();
  if (arguments.has("labels")) {
    if (!has_classes) {
      throw UsageError(str_cat("weft import: --labels: only the heads ",
                               join(heads_with_classes(stored.family), " and "), " have classes"));
    }
    options.labels = read_labels(arguments);
    options.is_regression = false;
  } else if (options.head != stored.head && has_classes && stored.labels.empty()) {
    options.labels = {"LABEL_0", "LABEL_1"};
  }
  return options;
}

/// Returns null if the directory has none.
std::shared_ptr<const data::Tokenizer> read_tokenizer(const std::string& directory,
                                                      const models::ModelOptions& options) {
  if (!data::has_tokenizer(directory)) {
    log::warning(str_cat("[import] ", directory, " has no tokenizer, none was written"));
    return nullptr;
  }
  auto tokenizer = data::load_tokenizer(directory);
  train::check_vocabulary(directory, *tokenizer, options);
  return tokenizer;
}

/// Adapter to merge into its base; empty if a model is imported.
std::string adapter_of(const Arguments& arguments) {
  const auto& path = arguments.positional()[0];
  const bool is_adapter = models::is_adapter_directory(path);
  if (!is_adapter && arguments.has("base")) {
    throw UsageError(str_cat("weft import: --base: ", path, " is not an adapter directory"));
  }
  return is_adapter ? path : "";
}

std::string model_of(const Arguments& arguments, const std::string& adapter) {
  if (adapter.empty()) {
    return models::model_directory(arguments.positional()[0]);
  }
  const auto base = arguments.get("base", models::adapter_base(adapter));
  if (!fs::exists(base)) {
    throw UserError(str_cat(adapter, ": its base '", base,
                            "' was not found: give its directory with --base DIR",
                            models::download_hint(base)));
  }
  return models::model_directory(base);
}

/// Classes keep their place, so the positive one has the new name there. A threshold of other
/// classes means nothing.
void write_decision(const std::string& from,
                    const std::string& to,
                    const models::ModelOptions& stored,
                    const models::ModelOptions& options) {
  auto decision = objectives::read_decision_threshold(from);
  const bool fits = options.head == stored.head && options.labels.size() == stored.labels.size();
  if (!fits && decision.threshold) {
    log::warning("[import] the classes are others: the decision threshold is not taken over");
  }
  if (fits && options.labels.size() == 2) {
    if (!decision.positive_label.empty()) {
      const auto positive = decision.positive_class(stored.labels);
      decision.positive_label = options.labels[static_cast<std::size_t>(positive)];
    }
    objectives::write_decision_threshold(to, decision);
  }
}

void say(const models::LoadedModel& loaded) {
  if (!loaded.missing_keys.empty()) {
    log::info("[import] missing keys, newly initialised: " + join(loaded.missing_keys));
  }
  if (!loaded.unexpected_keys.empty()) {
    log::info("[import] unexpected keys, not used: " + join(loaded.unexpected_keys));
  }
}

}  // namespace

int run_import(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft import DIR --output DIR [--head HEAD] [--labels A,B,...] [--dtype DTYPE]",
       .description =
           "Reads a Hugging Face model directory of any transformers version, checks it, reports "
           "missing and unexpected keys, and writes it in the current format: config.json, "
           "model.safetensors and tokenizer. Pickle files are never read. Also reads n-gram "
           "models in the ARPA format (FILE.arpa, FILE.arpa.gz) and fastText's classifiers "
           "(FILE.bin, FILE.ftz).",
       .examples = {"weft import downloads/bert-base --output bert-base",
                    "weft import downloads/electra --output tagger --head token --labels O,B,I",
                    "weft import kenlm.arpa --output ngram",
                    "weft import lid.176.ftz --output language_id"}},
      1, 1);
  arguments.value("output", "DIR", "Output directory; must be new or empty")
      .value("head", "HEAD",
             str_cat("Replace the stored head: ", join(head_names()),
                     "; missing keys are newly initialised"))
      .value("labels", "NAMES", "Class names, comma-separated")
      .value("base", "DIR",
             "For a LoRA adapter in PEFT format: directory of the base model it is merged into")
      .value("dtype", "DTYPE", "fp32 (default), bf16 or fp16");
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto output = read_output(arguments, "import");
  if (import_file(arguments, output)) {
    std::cout << output << "\n";
    return 0;
  }
  const auto dtype = read_dtype(arguments);
  const auto adapter = adapter_of(arguments);
  const auto source = model_of(arguments, adapter);
  auto stored = models::read_legacy_model_config(source);
  stored = adapter.empty() ? stored : models::adapter_options(adapter, stored);
  const auto options = wanted_options(arguments, stored);
  auto loaded = models::load_model(source, options, 0);
  if (!adapter.empty()) {
    const auto whole = models::apply_adapter(adapter, *loaded.model);
    std::erase_if(loaded.missing_keys, [&](const auto& name) { return whole.contains(name); });
  }
  const auto tokenizer = read_tokenizer(source, options);
  double gap = 0;
  write_directory(output, [&](const std::string& working) {
    copy_auxiliary_files(source, working, *loaded.model, AuxiliaryFiles::kDocumentation);
    if (tokenizer) {
      tokenizer->save(working, options.length);
    }
    models::save_model(working, *loaded.model, dtype);
    write_generator(source, working, *loaded.model, dtype);
    write_decision(source, working, stored, options);
    gap = check_written(working, *loaded.model, dtype);
  });
  say(loaded);
  log::info(str_cat("[import] ", source, " -> ", output, ", ", models::architecture_of(options),
                    " in ", arguments.get("dtype", "fp32"), ", outputs differ by at most ", gap,
                    " of the largest value"));
  std::cout << output << "\n";
  return 0;
}

}  // namespace weft::cli
