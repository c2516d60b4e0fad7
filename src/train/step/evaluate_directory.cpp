#include "train/step/evaluate_directory.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "batching/token_types.h"
#include "config/section.h"
#include "config/yaml.h"
#include "data/rows/tagged_rows.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "formats/table.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "models/generator.h"
#include "models/inference.h"
#include "objectives/options.h"
#include "train/step/task.h"

namespace weft::train {

namespace {

std::string objective_word(const models::ModelOptions& options, const std::string& directory) {
  switch (options.head) {
    case models::Head::kMaskedLm:
    case models::Head::kPretraining:
    case models::Head::kNextSentence:
      return "mlm";
    case models::Head::kSequence:
    case models::Head::kImage:
    case models::Head::kTaughtImage:
      return "classify";
    case models::Head::kMaskedImage:
      return "masked_image";
    case models::Head::kToken:
      return "tag";
    case models::Head::kReplacedToken:
      return "replaced_token";
    case models::Head::kNone:
    case models::Head::kSpan:
      break;
    case models::Head::kCausalLm:
      return options.decoder.sees_prompt ? "prefix" : "causal";
    case models::Head::kConditional:
      return "seq2seq";
  }
  throw UserError(
      directory +
      ": has no head to evaluate, must have one for language modelling or classification of texts "
      "or words");
}

// The columns that the run named for its training data, as `key: value` of an item.
formats::Json columns_in(const std::string& directory, const std::vector<std::string>& keys) {
  formats::Json named = formats::Json::object();
  const auto path = directory + "/weft.yaml";
  if (!std::filesystem::exists(path)) {
    return named;
  }
  const auto root = config::parse_yaml(MappedFile(path).text(), path);
  const auto* data = root.find("data");
  const auto* train = data != nullptr ? data->value.find("train") : nullptr;
  if (train == nullptr || train->value.items.empty()) {
    return named;
  }
  for (const auto& key : keys) {
    const auto* entry = train->value.items.front().find(key);
    if (entry != nullptr && entry->value.kind == config::Node::Kind::kScalar) {
      named[key] = entry->value.scalar;
    } else if (entry != nullptr && entry->value.kind == config::Node::Kind::kList) {
      for (const auto& item : entry->value.items) {
        named[key].push_back(item.scalar);
      }
    }
  }
  return named;
}

// A file as an item of data: with those of the columns that it has; the others are found by their
// usual names.
formats::Json evaluation_item_of(const std::string& file, const formats::Json& named) {
  formats::Json item = {{"path", file}};
  const auto found = glob_paths(file);
  const auto kind = found.empty() ? std::nullopt : formats::table_kind(found.front());
  const auto columns =
      kind ? formats::columns_of(found.front(), *kind) : data::tagged_columns(file);
  const auto is_there = [&](const formats::Json& value) {
    const auto name = value.get<std::string>();
    const bool is_number = kind != formats::TableKind::kJsonl && data::column_number(name);
    return is_number || std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  for (const auto& [key, value] : named.items()) {
    if (value.is_array() ? std::all_of(value.begin(), value.end(), is_there) : is_there(value)) {
      item[key] = value;
    }
  }
  return item;
}

// Of images: what the files hold and how it is written goes on to hold.
formats::Json image_item_of(const std::string& file, const formats::Json& named) {
  formats::Json item = {{"path", file}};
  for (const auto& [key, value] : named.items()) {
    if (value == "null") {
      continue;
    }
    item[key] = key == "white" ? formats::Json::parse(value.get<std::string>()) : value;
  }
  return item;
}

// What is written as an item of data, `{source: a.en, target: a.de}`, is one; the rest are files.
std::string items_of(const std::string& directory,
                     const models::ModelOptions& options,
                     const std::vector<std::string>& files,
                     const std::string& language) {
  const bool is_of_images = models::reads_images(options);
  const auto named =
      is_of_images
          ? columns_in(directory, {"kind", "image", "label", "names_file", "white"})
          : columns_in(directory, {"text", "text_pair", "label", "labels", "source", "target"});
  std::vector<std::string> items;
  for (const auto& file : files) {
    if (file.starts_with('{')) {
      items.push_back(file);
      continue;
    }
    auto item = is_of_images ? image_item_of(file, named) : evaluation_item_of(file, named);
    if (!language.empty()) {
      item["language"] = language;
    }
    items.push_back(item.dump());
  }
  return "[" + join(items) + "]";
}

// weft.yaml with the files in place of its data, or a config made up for a directory that Weft did
// not write.
config::Document task_document(const std::string& directory,
                               const models::ModelOptions& options,
                               const std::vector<std::string>& files,
                               const std::string& language,
                               const std::vector<std::string>& overrides) {
  const auto list = items_of(directory, options, files, language);
  std::vector<std::string> all = {"data.train=" + list, "data.evaluate=" + list, "data.folds=null",
                                  "data.fold=1"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const auto path = directory + "/weft.yaml";
  if (std::filesystem::exists(path)) {
    return config::Document::load(path, all);
  }
  const auto word = options.is_regression ? "regress" : objective_word(options, directory);
  return config::Document::parse(
      text("objective: {type: ", word, options.is_multi_label ? ", multi_label: true" : "",
           "}\ndata: {}\n"),
      directory, all);
}

uint64_t seed_of(config::Section root) {
  int64_t seed = 1;
  root.section("run", {.help = "The run."}).read("seed", seed, {.help = "Seed of the run."});
  return static_cast<uint64_t>(seed);
}

// The threshold is that of the model; to tune one on the data that judge it would be cheating.
void decide_as(const objectives::Decision& decision, objectives::ClassOptions& options) {
  options.tunes_threshold.reset();
  if (decision.threshold) {
    options.threshold = decision.threshold;
  }
}

/// Texts are written for the sources of pairs.
void refuse_other_than_pairs(const std::string& directory,
                             const objectives::ObjectiveOptions& objective,
                             const models::ModelOptions& model) {
  const bool joins_pairs = model.decoder.prompt_end_id >= 0;  // a decoder's
  if (objective.type != objectives::ObjectiveType::kSeq2Seq && !joins_pairs) {
    throw UserError(text(directory, ": its objective is ", objectives::word_of(objective.type),
                         "; texts are written and compared of models that learnt a target for a "
                         "source (seq2seq, or prefix of a decoder on pairs)"));
  }
}

}  // namespace

DirectoryEvaluation evaluate_all(const std::string& model,
                                 const std::vector<std::string>& files,
                                 const EvaluationSettings& settings,
                                 const std::vector<std::string>& overrides) {
  const auto directory = models::model_directory(model);
  const auto options = models::read_model_config(directory);
  if (!settings.language.empty()) {
    batching::check_language(options, settings.language);
  }
  const auto document = task_document(directory, options, files, settings.language, overrides);
  auto objective_section = document.root().section("objective", {.help = "The objective."});
  auto objective_options = objectives::read_objective_options(objective_section);
  auto data_section = document.root().section("data", {.help = "The data."});
  auto data_options = data::read_data_options(data_section);
  data_options.train.clear();  // stood for the same files
  data_options.folds.reset();

  DirectoryEvaluation result;
  result.decision = objectives::read_decision(directory);
  decide_as(result.decision, objective_options.classes);
  if (settings.needs_pairs) {
    refuse_other_than_pairs(directory, objective_options, options);
  }
  const auto objective = objectives::make_objective(objective_options);
  if (settings.judges_items && !objective->evaluation()->worst(0)) {
    throw UserError(text(directory,
                         ": its objective does not judge texts one by one, the worst are known "
                         "of classification, regression and tagging"));
  }
  result.directory = directory;
  result.tokenizer = data::load_tokenizer(directory);
  result.items = data_options.evaluate;
  const auto data =
      objectives::make_task_data(objective_options, data_options, options, result.tokenizer,
                                 seed_of(document.root()), show_progress());
  log::set_status("");
  for (const auto& remark : data.remarks) {
    log::info("[data] " + remark);
  }
  const auto loaded = models::load_model(directory, options, 0);
  if (!loaded.fresh.empty()) {
    throw UserError(text(directory, ": has no weights for ", join(loaded.fresh)));
  }
  if (objective_options.type == objectives::ObjectiveType::kReplacedToken) {
    models::load_generator(*loaded.model, directory);
  }
  models::prepare_for_inference(*loaded.model, settings.inference);
  result.model = loaded.model;
  result.dataset = data.evaluate;
  result.evaluation = evaluation_of(*objective, *loaded.model, data.evaluate, settings);
  return result;
}

Figures evaluate_directory(const std::string& model,
                           const std::vector<std::string>& files,
                           const EvaluationSettings& settings,
                           const std::vector<std::string>& overrides) {
  return evaluate_all(model, files, settings, overrides).evaluation->result();
}

}  // namespace weft::train
