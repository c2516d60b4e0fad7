#include "cli/predict/evaluate.h"

#include <filesystem>
#include <iostream>

#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/predict/predict.h"
#include "cli/ranks.h"
#include "cli/shared_options.h"
#include "formats/json.h"
#include "report/evaluation_json.h"
#include "train/step/evaluate.h"

namespace weft::cli {
namespace {

/// The part of the training data to evaluate on; nullopt: files are named.
std::optional<data::SplitPart> read_split_part(const Arguments& arguments) {
  for (const auto* name : {"data", "language"}) {
    if (arguments.has("split") && arguments.has(name)) {
      throw UsageError(str_cat("weft evaluate: --split takes the files of the run, omit --", name));
    }
  }
  if (arguments.has("split")) {
    return arguments.choice("split", data::SplitPart::kTest,
                            {std::begin(data::kSplitParts), std::end(data::kSplitParts)});
  }
  if (!arguments.has("data")) {
    throw UsageError(
        "weft evaluate: --data FILE is required (or --split PART, if the run had data.split)");
  }
  return std::nullopt;
}

/// Writes the `count` examples with the highest loss as JSON lines, atomically.
void write_hardest_examples(const std::string& path,
                            const train::DirectoryEvaluation& done,
                            int64_t count) {
  FileWriter writer(path);
  for (const auto& line : report::hardest_examples(done, count)) {
    // Texts may contain bytes that are not UTF-8; JSON must not.
    writer.write(line.dump(-1, ' ', false, formats::Json::error_handler_t::replace) + "\n");
  }
  writer.commit();
}

/// Says which checkpoint was evaluated: `runs/a/best -> checkpoint-200`.
void log_directory(const std::string& directory) {
  namespace fs = std::filesystem;
  log::info(
      str_cat("[evaluate] ", directory,
              fs::is_symlink(directory) ? " -> " + fs::read_symlink(directory).string() : ""));
}

void print(const Arguments& arguments,
           const formats::Json& report,
           const train::DirectoryEvaluation& done) {
  if (arguments.has("json") || isatty(STDOUT_FILENO) == 0) {
    std::cout << report.dump() << "\n";
  } else {
    std::cout << evaluation_table(report, done.selected_by);
  }
}

void declare_evaluate(Arguments& arguments) {
  arguments.group("Data")
      .value("data", "FILE",
             "Evaluation data: a file or glob pattern, or a complete data item as in a config, "
             "{source: a.en, target: a.de}; may be repeated")
      .value("split", "PART",
             "Evaluate on the rows that data.split of the run put into this part: test, evaluate "
             "or train. The files are those of the run's config; changed files are an error")
      .value("set", "KEY=VALUE", "Override a key of the model's weft.yaml; may be repeated")
      .value("language", "NAME", "Language of the texts, for models with language embeddings (xlm)")
      .group("Output")
      .flag("json", "Print JSON also on a terminal, where the default is tables")
      .value(
          "hardest", "FILE",
          "Write the examples with the largest loss as JSON lines, worst first; for token "
          "classification with the words (or sentences), their tags, the predicted tags and their "
          "probabilities")
      .value("hardest-limit", "N", "Number of examples for --hardest (default: 100)")
      .group("Performance")
      .value("batch-tokens", "N", "Tokens per batch (default: 8192; on the CPU at most 512)");
  declare_early_exit(arguments);
  declare_inference(arguments);
  declare_generated_texts(arguments);
}

}  // namespace

int run_evaluate(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft evaluate MODEL (--data FILE [--data FILE ...] | --split PART) [options]",
       .description = "Evaluates a model on files of the same format as in training and prints "
                      "loss and metrics: as tables on a terminal, else as one JSON object. How "
                      "the files are read is taken from the model's weft.yaml. The metrics do not "
                      "depend on the batch size or the "
                      "number of threads. For classifiers it also reports the metrics of each "
                      "class and the confusion matrix (rows: labels, columns: predictions).",
       .examples = {"weft evaluate runs/quickstart/spam --data data/spam/test.tsv",
                    "weft evaluate runs/quickstart/spam --data data/spam/test.tsv --hardest "
                    "worst.jsonl --hardest-limit 20",
                    "weft evaluate runs/spam --split test",
                    "weft evaluate runs/bert-mini --data held_out.txt --set data.length=128",
                    "weft evaluate runs/marian-en-de --data '{source: test.en, target: "
                    "test.de}' --generate --beams 5"}},
      1, 1);
  declare_evaluate(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  train::EvaluationSettings settings;
  settings.split = read_split_part(arguments);
  settings.batch_tokens =
      arguments.integer("batch-tokens", settings.batch_tokens, 1, int64_t{1} << 24);
  settings.inference = read_inference(arguments);
  settings.needs_example_results = arguments.has("hardest");
  settings.needs_pairs = wants_generated_texts(arguments);
  settings.language = arguments.get("language", "");
  settings.early_exit = arguments.get("early-exit", "");
  const auto limit = arguments.integer("hardest-limit", 100, 1, int64_t{1} << 32);
  if (arguments.has("hardest-limit") && !arguments.has("hardest")) {
    throw UsageError("weft evaluate: --hardest-limit needs --hardest FILE");
  }
  const auto group = join_ranks(arguments, raw);
  settings.group = group.get();
  const auto done = train::run_evaluation_on_directory(
      arguments.positional()[0], arguments.all("data"), settings, arguments.all("set"));
  log_directory(done.directory);
  const auto generated =
      settings.needs_pairs ? evaluate_texts(arguments, done, *group) : formats::Json::object();
  if (!group->is_main()) {
    return 0;
  }
  if (arguments.has("hardest")) {
    write_hardest_examples(arguments.get("hardest"), done, limit);
    log::info(str_cat("[evaluate] the examples with the largest loss were written to ",
                      arguments.get("hardest")));
  }
  auto results = report::evaluation_json(done);
  results.update(report::rounded(generated));
  print(arguments, results, done);
  return 0;
}

}  // namespace weft::cli
