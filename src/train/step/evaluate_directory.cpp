#include "train/step/evaluate_directory.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "batching/model_inputs.h"
#include "config/section.h"
#include "config/yaml.h"
#include "data/row_selection.h"
#include "data/rows/labelled_rows.h"
#include "data/rows/tagged_rows.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "formats/table_reader.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/stack_keys.h"
#include "models/directory.h"
#include "models/generator.h"
#include "models/inference.h"
#include "objectives/objective_registry.h"
#include "train/step/run_components.h"

namespace weft::train {

namespace {

// The objective that evaluates such a model, for a directory that Weft did not write.
std::string objective_type_for(const models::ModelOptions& options, const std::string& directory) {
  const auto& head = models::head_of(options);
  if (head.objective.empty()) {
    throw UserError(directory +
                    ": no head to evaluate, must be a model for language modelling, "
                    "classification or token classification");
  }
  const bool has_prefixes = head.takes_prefixes() && options.is_prefix_lm;
  const bool is_regression = head.classifies_sequences && options.is_regression;
  return std::string(has_prefixes ? "prefix_lm" : is_regression ? "regress" : head.objective);
}

// weft.yaml of a model directory; empty if it has none.
config::Node written_config(const std::string& directory) {
  const auto path = directory + "/weft.yaml";
  return std::filesystem::exists(path) ? config::parse_yaml(MappedFile(path).text(), path)
                                       : config::Node{.entries = {}};
}

// Columns that the run configured for its training data, as `key: value` of an item.
formats::Json configured_columns(const config::Node& config, const std::vector<std::string>& keys) {
  formats::Json named = formats::Json::object();
  for (const auto& key : keys) {
    const auto* value = config.value_at("data.train.0." + key);
    if (value != nullptr && value->kind == config::Node::Kind::kScalar) {
      named[key] = value->scalar;
    } else if (value != nullptr && value->kind == config::Node::Kind::kList) {
      for (const auto& item : value->items) {
        named[key].push_back(item.scalar);
      }
    }
  }
  return named;
}

// Adds configured keys that are the same for every file.
void add_as_configured(formats::Json& item, const formats::Json& configured) {
  for (const auto& [key, value] : configured.items()) {
    if (value != "null") {
      const bool is_text = key != "max_pixel_value" && key != "header";
      item[key] = is_text ? value : formats::Json::parse(value.get<std::string>());
    }
  }
}

formats::TableOptions format_of(const formats::Json& item) {
  formats::TableOptions options{.has_header = item.value("header", true)};
  if (item.contains("delimiter")) {
    options.delimiter = item["delimiter"].get<std::string>().front();
  }
  return options;
}

// A data file as an item: with the configured columns that it has; the others are found by their
// usual names.
formats::Json evaluation_item_of(const std::string& file,
                                 const formats::Json& named,
                                 const config::Node& config) {
  formats::Json item = {{"path", file}};
  add_as_configured(item, configured_columns(config, {"names_file"}));
  const auto found = glob_paths(file);
  const auto kind = found.empty() ? std::nullopt : formats::table_kind(found.front());
  if (kind == formats::TableKind::kCsv) {
    add_as_configured(item, configured_columns(config, {"header", "delimiter"}));
  } else if (kind == formats::TableKind::kTsv) {
    add_as_configured(item, configured_columns(config, {"header"}));
  }
  const auto columns = kind ? formats::read_column_names(found.front(), *kind, format_of(item))
                            : data::tagged_columns(file);
  const auto is_there = [&](const formats::Json& value) {
    const auto name = value.get<std::string>();
    const bool is_number = kind != formats::TableKind::kJsonl && data::column_number(name);
    return is_number || formats::find_column(name, columns);
  };
  for (const auto& [key, value] : named.items()) {
    if (value.is_array() ? std::all_of(value.begin(), value.end(), is_there) : is_there(value)) {
      item[key] = value;
    }
  }
  return item;
}

// An image file as an item, with all configured keys: content and format are the same.
formats::Json image_item_of(const std::string& file, const formats::Json& named) {
  formats::Json item = {{"path", file}};
  add_as_configured(item, named);
  return item;
}

// Data written as an item, `{source: a.en, target: a.de}`, is used as is; the rest are files.
std::string items_of(const config::Node& config,
                     const models::ModelOptions& options,
                     const std::vector<std::string>& files,
                     const std::string& language) {
  const bool is_of_images = models::reads_images(options);
  const auto named =
      is_of_images ? configured_columns(
                         config, {"format", "image", "label", "names_file", "max_pixel_value"})
                   : configured_columns(
                         config, {"text", "text_pair", "label", "labels", "source", "target"});
  std::vector<std::string> items;
  for (const auto& file : files) {
    if (file.starts_with('{')) {
      items.push_back(file);
      continue;
    }
    if (glob_paths(file).empty()) {
      throw UserError(str_cat("--data ", file, ": no such file"));
    }
    auto item = is_of_images ? image_item_of(file, named) : evaluation_item_of(file, named, config);
    if (!language.empty()) {
      item["language"] = language;
    }
    items.push_back(item.dump());
  }
  return "[" + join(items) + "]";
}

// weft.yaml with the files as its data, or a synthesised config for a directory that Weft did not
// write.
config::Document evaluation_config(const std::string& directory,
                                   const models::ModelOptions& options,
                                   const std::vector<std::string>& files,
                                   const std::string& language,
                                   const std::vector<std::string>& overrides) {
  const auto list = items_of(written_config(directory), options, files, language);
  std::vector<std::string> all = {"data.train=" + list, "data.evaluate=" + list, "data.folds=null",
                                  "data.fold=1", "data.split={}"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const auto path = directory + "/weft.yaml";
  if (std::filesystem::exists(path)) {
    return config::Document::load(path, all);
  }
  const auto word = objective_type_for(options, directory);
  return config::Document::parse(
      str_cat("objective: {type: ", word, options.is_multi_label ? ", multi_label: true" : "",
              "}\ndata: {}\n"),
      directory, all);
}

// The rows of one part, of the files that the config names.
std::vector<data::DataItem> recorded_items(const std::string& directory,
                                           const data::SplitRecord& record,
                                           data::SplitPart part,
                                           const std::vector<data::DataItem>& items) {
  auto found = data::items_of_part(items, record, part);
  if (std::all_of(found.begin(), found.end(),
                  [](const auto& item) { return item.rows->empty(); })) {
    throw UserError(directory + data::kSplitRecord +
                    ": the split has no rows in this part; name files with --data");
  }
  return found;
}

data::SplitRecord require_split_record(const std::string& directory) {
  auto record = data::read_split_record(directory);
  if (!record) {
    throw UserError(str_cat(directory, ": no recorded split (", directory, data::kSplitRecord,
                            "), the model was trained without data.split; name files with --data"));
  }
  return *std::move(record);
}

/// train.best_by of the run; nullopt if it has the default.
std::optional<std::string> configured_metric(const std::string& directory) {
  const auto config = written_config(directory);
  const auto* metric = config.value_at("train.best_by");
  return metric != nullptr && metric->kind == config::Node::Kind::kScalar
             ? std::optional(metric->scalar)
             : std::nullopt;
}

uint64_t seed_of(config::Section root) {
  int64_t seed = 1;
  root.section("run", {.help = "The run."}).read("seed", seed, {.help = "Random seed."});
  return static_cast<uint64_t>(seed);
}

/// Texts are generated for the sources of pairs.
void require_pair_objective(const std::string& directory,
                            const objectives::Objective& objective,
                            const data::DataOptions& data,
                            const models::ModelOptions& model) {
  const bool joins_pairs = model.prefix_end_id >= 0;  // of a decoder
  if (!joins_pairs && !(models::is_encoder_decoder(model) && objective.reads_pairs(data, model))) {
    throw UserError(str_cat(directory, ": its objective is ", objective.name(),
                            "; --generate needs a model trained on pairs of source and target "
                            "(seq2seq, or prefix_lm with a decoder)"));
  }
}

}  // namespace

DirectoryEvaluation run_evaluation_on_directory(const std::string& model,
                                                const std::vector<std::string>& files,
                                                const EvaluationSettings& settings,
                                                const std::vector<std::string>& overrides) {
  const auto directory = models::model_directory(model);
  auto options = models::read_model_config(directory);
  models::replace_exit_rule(settings.early_exit, "--early-exit", options);
  if (!settings.language.empty()) {
    batching::check_language(options, settings.language);
  }
  const auto record =
      settings.split ? std::optional(require_split_record(directory)) : std::nullopt;
  const auto document =
      record ? config::Document::load(directory + "/weft.yaml", overrides)
             : evaluation_config(directory, options, files, settings.language, overrides);
  auto objective_section = document.root().section("objective", {.help = "The objective."});
  const auto objective = objectives::read_objective(objective_section);
  auto data_section = document.root().section("data", {.help = "The data."});
  auto data_options = data::read_data_options(data_section);
  if (record) {
    data_options.evaluate = recorded_items(directory, *record, *settings.split, data_options.train);
  }
  data_options.train.clear();  // only the evaluation is read
  data_options.folds.reset();

  DirectoryEvaluation result;
  result.decision = objectives::read_decision_threshold(directory);
  objective->set_decision_threshold(result.decision);
  if (settings.needs_pairs) {
    require_pair_objective(directory, *objective, data_options, options);
  }
  if (settings.needs_example_results && !objective->evaluation()->hardest_examples(0)) {
    throw UserError(str_cat(directory,
                            ": its objective has no per-example results; --hardest works with "
                            "classification, regression and token classification"));
  }
  result.directory = directory;
  result.selected_by = configured_metric(directory).value_or(objective->metric_for_best_model());
  result.tokenizer = data::load_tokenizer(directory);
  result.items = data_options.evaluate;
  const auto data = settings.group->main_first("the preparation of the data on rank 0", [&] {
    return objective->make_datasets({.data = data_options,
                                     .model = options,
                                     .tokenizer = result.tokenizer,
                                     .seed = seed_of(document.root()),
                                     .progress = show_progress()});
  });
  log::set_progress_line("");
  for (const auto& remark : data.remarks) {
    log::info("[data] " + remark);
  }
  const auto loaded = models::load_model(directory, options, 0);
  if (!loaded.missing_keys.empty()) {
    throw UserError(str_cat(directory, ": missing keys: ", join(loaded.missing_keys)));
  }
  if (objective->generator_options(options)) {
    models::load_generator(*loaded.model, directory, objective->embedding_sharing());
  }
  models::prepare_for_inference(*loaded.model, settings.inference);
  result.model = loaded.model;
  result.dataset = data.evaluate;
  result.evaluation = run_evaluation(*objective, *loaded.model, data.evaluate, settings);
  return result;
}

TextColumns trained_text_columns(const std::string& directory) {
  const auto item = configured_columns(written_config(directory), {"text", "text_pair"});
  const auto named = [&](const std::string& key) {
    const auto name = item.value(key, "null");
    return name == "null" ? std::nullopt : std::optional(name);
  };
  return {.text = named("text"), .text_pair = named("text_pair")};
}

bool was_trained_on_pairs(const std::string& directory) {
  const auto item = configured_columns(written_config(directory), {"path", "text_pair"});
  const auto path = item.value("path", "");
  const auto kind = formats::table_kind(path);
  if (item.value("text_pair", "null") != "null" || !kind || !std::filesystem::exists(path)) {
    return item.value("text_pair", "null") != "null";
  }
  const auto columns = formats::read_column_names(path, *kind);
  return data::text_columns("", std::nullopt, columns, path).size() > 1;
}

Metrics evaluate_directory(const std::string& model,
                           const std::vector<std::string>& files,
                           const EvaluationSettings& settings,
                           const std::vector<std::string>& overrides) {
  return run_evaluation_on_directory(model, files, settings, overrides).evaluation->result();
}

}  // namespace weft::train
