#include "report/report.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "config/section.h"
#include "data/row_selection.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/directory.h"
#include "models/inference.h"
#include "report/sections/sections.h"
#include "train/run/run_config.h"
#include "train/run/run_record.h"
#include "train/step/run_components.h"

namespace weft::report {

namespace {

namespace fs = std::filesystem;

/// Whether `weft evaluate` scores single examples of such a model.
bool predicts_examples(const models::ModelOptions& options) {
  const auto& head = models::head_of(options);
  return head.classifies_sequences || head.classifies_tokens;
}

/// Training and evaluation data of the run's config.
void load_data(const RunSummary& summary, LoadedRun& loaded, std::vector<std::string>& problems) {
  try {
    const auto path = summary.directory + "/config.yaml";
    auto config = train::select_rows(train::read_run_config(config::Document::load(path)),
                                     data::read_split_record(summary.directory))
                      .config;
    if (loaded.evaluate) {
      config.data.evaluate.clear();  // read by the evaluation
    }
    const auto tokenizer = train::prepare_tokenizer(config, loaded.directory);
    auto data = train::prepare_data(config, loaded.model->options(), tokenizer);
    loaded.tokenizer = loaded.tokenizer ? loaded.tokenizer : tokenizer;
    loaded.train = std::move(data.train);
    if (data.evaluate) {
      loaded.evaluate = std::move(data.evaluate);
    }
    loaded.labels = std::move(data.labels);
  } catch (const UserError& error) {
    problems.push_back(str_cat("The data of the run are not shown: ", error.what(),
                               "; paths are relative to the directory in which it was started"));
  }
}

/// The evaluation of a model that predicts for single examples, on the chosen files.
void evaluate(const RunSummary& summary,
              const ReportOptions& options,
              LoadedRun& loaded,
              std::vector<std::string>& problems) {
  train::EvaluationSettings settings{.inference = options.inference, .split = options.split};
  auto files = options.files;
  if (files.empty() && !settings.split) {
    files = evaluation_files(summary);
  }
  if (files.empty() && !settings.split && fs::exists(summary.directory + data::kSplitRecord)) {
    settings.split = data::SplitPart::kEvaluate;
  }
  if (files.empty() && !settings.split) {
    problems.emplace_back(
        "There are no predictions: the run has no data.evaluate and no split; "
        "--data FILE names a file");
    return;
  }
  try {
    log::info(str_cat("[report] evaluating ", loaded.directory));
    loaded.evaluation = train::run_evaluation_on_directory(loaded.directory, files, settings);
    loaded.model = loaded.evaluation->model;
    loaded.tokenizer = loaded.evaluation->tokenizer;
    loaded.evaluate = loaded.evaluation->dataset;
    loaded.labels = loaded.model->options().labels;
  } catch (const UserError& error) {
    problems.push_back(str_cat("There are no predictions: ", error.what()));
  }
}

/// The model of a run, prepared for inference, with its data.
std::optional<LoadedRun> load_run(const RunSummary& summary,
                                  const ReportOptions& options,
                                  std::vector<std::string>& problems) {
  try {
    LoadedRun loaded{.directory = models::model_directory(summary.directory)};
    const auto model = models::read_model_config(loaded.directory);
    if (predicts_examples(model)) {
      evaluate(summary, options, loaded, problems);
    }
    if (!loaded.model) {
      loaded.model = models::load_for_inference(loaded.directory, model, options.inference).model;
      if (data::has_tokenizer(loaded.directory)) {
        loaded.tokenizer = data::load_tokenizer(loaded.directory);
      }
    }
    loaded.model->eval();
    load_data(summary, loaded, problems);
    if (loaded.labels.empty()) {
      loaded.labels = loaded.model->options().labels;
    }
    return loaded;
  } catch (const UserError& error) {
    problems.push_back(str_cat("The model is not shown: ", error.what()));
    return std::nullopt;
  }
}

void add_run(const std::string& directory, ReportInput& input) {
  ReportRun run{.summary = {.directory = directory, .config = {}, .state = {}}, .history = {}};
  try {
    run.summary = read_run(directory);
  } catch (const UserError& error) {
    input.problems.emplace_back(error.what());
  }
  run.history = read_history(directory, static_cast<int64_t>(input.runs.size()));
  input.runs.push_back(std::move(run));
}

void add_sweep_files(const std::string& directory, ReportInput& input) {
  for (const std::string name : {"/grid.json", "/seeds.json", "/folds.json"}) {
    if (fs::exists(directory + name)) {
      input.sweeps.push_back(directory + name);
    }
  }
}

}  // namespace

const data::Dataset* ReportInput::dataset() const {
  if (!loaded) {
    return nullptr;
  }
  return loaded->evaluate ? loaded->evaluate.get() : loaded->train.get();
}

const std::vector<SectionDefinition>& sections() {
  static const std::vector<SectionDefinition> kSections = {
      {"overview", "Overview", add_overview},
      {"sweep", "Settings", add_sweep},
      {"training", "Training", add_training},
      {"predictions", "Predictions", add_classification},
      {"examples", "Hardest examples", add_examples},
      {"images", "Images", add_images},
      {"generation", "Samples", add_generation},
      {"attention", "Attention", add_attention},
      {"attributions", "Attributions", add_attributions},
      {"positions", "Positions", add_positions},
      {"embeddings", "Embeddings", add_embeddings},
      {"data", "Data", add_data},
      {"performance", "Performance", add_performance},
      {"model", "Model", add_model},
      {"setup", "Setup", add_setup}};
  return kSections;
}

ReportInput read_report_input(const std::vector<std::string>& directories,
                              const ReportOptions& options) {
  ReportInput input{.options = options};
  for (const auto& directory : directories) {
    const auto known = input.runs.size();
    visit_runs(
        directory, [&](const auto& run) { add_run(run, input); },
        [&](const auto& other) { add_sweep_files(other, input); });
    if (input.runs.size() == known) {
      throw UserError(directory +
                      ": not a run directory, which has config.yaml and train.log, and there is "
                      "none below it");
    }
  }
  if (options.loads_model && input.runs.size() == 1) {
    input.loaded = load_run(input.runs.front().summary, options, input.problems);
  }
  return input;
}

std::string starting_directory(const std::vector<std::string>& runs) {
  if (runs.size() != 1 || !is_run_directory(runs.front())) {
    return "";
  }
  try {
    auto directory = train::read_run_record(runs.front()).directory;
    return fs::is_directory(directory) ? directory : "";
  } catch (const UserError&) {
    return "";  // add_setup says why
  }
}

Page make_page(const ReportInput& input) {
  std::vector<std::string> names;
  for (const auto& run : input.runs) {
    names.push_back(run.summary.directory);
  }
  Page page(names.size() == 1 ? "Report of " + names.front()
                              : str_cat("Report of ", names.size(), " runs"),
            names);
  for (const auto& [id, title, add] : sections()) {
    page.section(id, title);
    try {
      add(input, page);
    } catch (const UserError& error) {
      page.warning(str_cat("This section is not complete: ", error.what()));
    } catch (const c10::Error& error) {
      page.warning(str_cat("This section is not complete: ", error.what_without_backtrace()));
    }
  }
  page.refresh_after(input.options.refresh_seconds);
  return page;
}

void write_page(const Page& page, const std::string& path, const std::string& figures) {
  write_file(path, page.html());
  if (figures.empty()) {
    return;
  }
  make_directories(figures);
  for (const auto& [name, svg] : page.svg_files()) {
    write_file(str_cat(figures, "/", name), svg);
  }
}

}  // namespace weft::report
