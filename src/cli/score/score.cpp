#include "cli/score/score.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/predict/output_writer.h"
#include "cli/predict/request_reader.h"
#include "cli/ranks.h"
#include "cli/shared_options.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "inference/choice_metrics.h"
#include "inference/likelihood.h"
#include "models/directory.h"
#include "models/inference.h"
#include "train/distributed/divided_blocks.h"

namespace weft::cli {
namespace {

using formats::Json;
using inference::Continuation;
using inference::Likelihood;
using inference::ScoreItem;

constexpr std::size_t kScoreBlock = 256;  // questions per block

/// Questions whose metrics are aggregated: those of a task, or all if there is none.
struct ScoreGroup {
  std::string task;
  std::unique_ptr<ScoreItemReader> items;
};

/// The scored part of whole texts.
void show_progress(double fraction) { log::set_progress("scoring", fraction); }

/// Exactly, to send it to another rank.
Json json_of(const Likelihood& found) {
  return {found.log_probability, found.is_greedy, found.tokens, found.was_truncated};
}

std::vector<Likelihood> likelihoods_of(const Json& json) {
  std::vector<Likelihood> found;
  for (const auto& each : json) {
    found.push_back({.log_probability = each[0],
                     .is_greedy = each[1],
                     .tokens = each[2],
                     .was_truncated = each[3]});
  }
  return found;
}

Json json_of(const std::vector<Likelihood>& found) {
  auto json = Json::array();
  for (const auto& each : found) {
    json.push_back(json_of(each));
  }
  return json;
}

/// Scores questions in blocks, which ranks divide, and collects the metrics on rank 0.
class Scorer {
 public:
  Scorer(const std::string& path, const Arguments& arguments, train::ProcessGroup& group)
      : blocks_(group),
        directory_(models::model_directory(path)),
        tokenizer_(data::load_tokenizer(directory_)),
        scores_unconditional_(arguments.has("unconditional")) {
    auto loaded = models::load_for_inference(directory_, models::read_model_config(directory_),
                                             read_inference(arguments));
    models::require_trained_head(directory_, loaded);
    model_ = loaded.model;
    scorer_ = std::make_unique<inference::LikelihoodScorer>(
        *model_, *tokenizer_,
        inference::LikelihoodSettings{
            .batch_tokens = read_batch_tokens(arguments),
            .max_length = arguments.integer("max-length", 0, 1, int64_t{1} << 30),
            .stride = arguments.integer("stride", 0, 1, int64_t{1} << 30),
            .on_step = [] { throw_if_stopped("scoring"); },
            .on_progress = arguments.has("text") ? show_progress : nullptr});
  }

  /// Scores one group and returns its metrics, on rank 0; without `writer` no lines are written.
  TaskMetrics answer(const ScoreGroup& asked,
                     int64_t words,
                     OutputWriter* writer,
                     const InputProgress& progress) {
    metrics_ = {};
    std::vector<ScoreItem> items;
    for (ScoreItem item; asked.items->next(item);) {
      items.push_back(std::move(item));
      if (items.size() == kScoreBlock) {
        answer(std::exchange(items, {}), writer);
        progress.show(asked.items->fraction_read());
      }
    }
    answer(std::move(items), writer);
    blocks_.finish();
    return {asked.task, metrics_.result(words)};
  }

  void report() const {
    if (truncated_ > 0) {
      log::warning(str_cat("[score] ", counted(truncated_, "context"), " ", was_or_were(truncated_),
                           " truncated on the left to the model's maximum length"));
    }
  }

 private:
  void answer(std::vector<ScoreItem> block, OutputWriter* writer) {
    const auto items = std::make_shared<const std::vector<ScoreItem>>(std::move(block));
    blocks_.add([&] { return score(*items); },
                [this, items, writer](const Json& found) { write(*items, found, writer); });
  }

  Json score(const std::vector<ScoreItem>& items) const {
    std::vector<Continuation> asked;
    std::vector<std::string> texts;
    for (const auto& item : items) {
      if (item.text) {
        texts.push_back(*item.text);
        continue;
      }
      for (const auto& choice : item.choices) {
        asked.push_back({item.context, inference::continuation_of(item, choice)});
      }
      if (scores_unconditional_ && item.choices.size() > 1) {
        for (const auto& choice : item.choices) {
          asked.push_back({"", inference::continuation_of(item, choice)});
        }
      }
    }
    return {{"continuations", json_of(scorer_->score(asked))},
            {"texts", texts.empty() ? Json::array() : json_of(scorer_->score_texts(texts))}};
  }

  void write(const std::vector<ScoreItem>& items, const Json& json, OutputWriter* writer) {
    const auto found = likelihoods_of(json["continuations"]);
    const auto read = likelihoods_of(json["texts"]);
    std::size_t at = 0;
    std::size_t text = 0;
    for (const auto& item : items) {
      const auto line = item.text                  ? text_line(*item.text, read[text++])
                        : item.choices.size() == 1 ? continuation_line(item, found[at++])
                                                   : choice_line(item, found, at);
      if (writer != nullptr) {
        writer->write(line.dump() + "\n");
      }
    }
    if (writer != nullptr) {
      writer->flush();
    }
  }

  Json text_line(const std::string& whole, const Likelihood& found) {
    const auto words = inference::split_count(whole);
    const auto bytes = static_cast<int64_t>(whole.size());
    metrics_.add_text(found, words, bytes);
    return {{"log_probability", found.log_probability},
            {"tokens", found.tokens},
            {"words", words},
            {"bytes", bytes}};
  }

  Json continuation_line(const ScoreItem& item, const Likelihood& found) {
    truncated_ += found.was_truncated ? 1 : 0;
    if (item.label) {  // a list of one choice
      metrics_.add({.texts = item.choices,
                    .log_probabilities = {found.log_probability},
                    .label = item.label});
      return {{"log_probabilities", {found.log_probability}}, {"prediction", 0}};
    }
    metrics_.add_continuation(found);
    return {{"log_probability", found.log_probability},
            {"is_greedy", found.is_greedy},
            {"tokens", found.tokens}};
  }

  Json choice_line(const ScoreItem& item, const std::vector<Likelihood>& found, std::size_t& at) {
    inference::ScoreMetrics::Choices choices{
        .texts = item.choices, .log_probabilities = {}, .label = item.label};
    for (std::size_t i = 0; i < item.choices.size(); ++i, ++at) {
      truncated_ += found[at].was_truncated ? 1 : 0;
      choices.log_probabilities.push_back(found[at].log_probability);
    }
    if (scores_unconditional_) {
      for (std::size_t i = 0; i < item.choices.size(); ++i, ++at) {
        choices.unconditional.push_back(found[at].log_probability);
      }
    }
    metrics_.add(choices);
    Json line{{"log_probabilities", choices.log_probabilities},
              {"prediction", inference::argmax(choices.log_probabilities)}};
    if (scores_unconditional_) {
      line["unconditional"] = choices.unconditional;
    }
    if (item.label) {
      line["label"] = *item.label;
    }
    return line;
  }

  train::DividedBlocks blocks_;
  std::string directory_;
  std::shared_ptr<const data::Tokenizer> tokenizer_;
  bool scores_unconditional_;
  std::shared_ptr<models::Model> model_;
  std::unique_ptr<inference::LikelihoodScorer> scorer_;
  inference::ScoreMetrics metrics_;
  int64_t truncated_ = 0;
};

std::vector<ScoreGroup> tasks_from(const Arguments& arguments) {
  std::vector<std::string> files;
  for (const auto& pattern : arguments.all("task")) {
    const auto found = glob_paths(pattern);
    if (found.empty()) {
      throw UsageError("weft score: --task '" + pattern + "' matches no file");
    }
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.size() > 1 && arguments.has("data")) {
    throw UsageError(str_cat("weft score: --data replaces the data of one task, but --task names ",
                             files.size()));
  }
  std::vector<ScoreGroup> tasks;
  for (const auto& file : files) {
    tasks.push_back({std::filesystem::path(file).stem(), open_task(file, arguments.all("data"))});
  }
  return tasks;
}

std::vector<ScoreGroup> score_groups(const Arguments& arguments) {
  std::vector<std::string> sources;
  for (const std::string name : {"input", "task", "text"}) {
    if (arguments.has(name)) {
      sources.push_back("--" + name);
    }
  }
  if (sources.size() > 1) {
    throw UsageError("weft score: " + sources[0] + " and " + sources[1] +
                     " are mutually exclusive");
  }
  if (arguments.has("data") && !arguments.has("task")) {
    throw UsageError("weft score: --data replaces the data of a --task FILE");
  }
  for (const std::string name : {"delimiter", "plain", "text-column"}) {
    if (arguments.has(name) && !sources.empty() && sources[0] != "--input") {
      throw UsageError("weft score: --" + name + " works only with --input");
    }
  }
  if (arguments.has("word-count") && arguments.has("task")) {
    throw UsageError(
        "weft score: --word-count works only with whole texts (--text, or lines with \"text\")");
  }
  if (arguments.has("task")) {
    return tasks_from(arguments);
  }
  if (arguments.has("table")) {
    throw UsageError("weft score: --table works only with --task FILE");
  }
  std::vector<ScoreGroup> asked;
  asked.push_back(
      {"", arguments.has("text") ? open_texts(arguments.all("text")) : open_items(arguments)});
  return asked;
}

void declare_score(Arguments& arguments) {
  arguments.group("Input")
      .value("input", "FILE",
             "Input file with JSON lines, or a .csv or .tsv table, each optionally compressed "
             "(.gz, .zst), or a .parquet table; - (default): standard input")
      .flag("plain", "Treat lines of the input as texts to score")
      .value("task", "FILE",
             "Task file (configs/score/*.yaml) with the tables and prompt templates; may be a glob "
             "pattern and may be repeated")
      .value("data", "FILE", "Tables to use instead of those in the task file; may be repeated")
      .value("text", "FILE", "File with one text to score as a whole; may be repeated");
  declare_columns(arguments, false);
  arguments.group("Output")
      .flag("table", "Write the metrics as a table with one row per task, instead of JSON lines")
      .value("output", "FILE", "Output file; - (default): standard output")
      .group("Likelihood")
      .value("delimiter", "TEXT",
             "Delimiter between context and choice (default: a space, unless one of them has white "
             "space there)")
      .flag("unconditional", "Also score each choice without its context, for acc_mutual_info")
      .value("word-count", "N",
             "Number of words used for word_perplexity, instead of counting those in the texts");
  arguments.group("Long texts", HelpLevel::kHelpAll)
      .value("max-length", "N",
             "Tokens per window of a long text (default: the length in the model's config.json)")
      .value("stride", "N",
             "Tokens scored in each window, after max-length - N tokens of context (default: "
             "max-length, windows that do not overlap)");
  declare_text_scores(arguments);
  arguments.group("Performance");
  declare_batch_tokens(arguments);
  declare_inference(arguments);
}

int score_items(const Arguments& arguments, train::ProcessGroup& group) {
  if (!arguments.has("task") && !arguments.has("text")) {
    require_input_of_all(group, arguments);
  }
  const auto all = score_groups(arguments);
  const auto words = arguments.integer("word-count", 0, 0, int64_t{1} << 50);
  const bool is_table = arguments.has("table");
  Scorer scorer(arguments.positional()[0], arguments, group);
  std::optional<OutputWriter> writer;
  if (group.is_main()) {
    writer.emplace(arguments.get("output", "-"));
  }
  std::vector<TaskMetrics> found;
  for (const auto& asked : all) {
    const InputProgress progress(std::string(trim("scoring " + asked.task)), arguments);
    found.push_back(
        scorer.answer(asked, words, is_table || !writer ? nullptr : &*writer, progress));
    if (writer && !is_table) {
      writer->write(score_json_of(found.back()).dump() + "\n");
    }
  }
  if (writer && is_table) {
    writer->write(score_table(found));
  }
  if (writer) {
    writer->commit();
  }
  scorer.report();
  return 0;
}

}  // namespace

int run_score(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft score MODEL [--input FILE|- | --task FILE | --text FILE] [options]\n"
                "       weft score --hypotheses FILE --references FILE [options]",
       .description =
           "Computes log-likelihoods of texts and choices, following the conventions of "
           "lm-evaluation-harness. Reads JSON lines or a table. {\"context\", \"choices\": [...], "
           "\"label\"} "
           "gives {\"log_probabilities\", \"prediction\"}; {\"context\", \"continuation\"} gives "
           "{\"log_probability\", \"is_greedy\"}; {\"text\"} gives the log-probability of the "
           "whole text. The output of `weft generate --n-best` can be scored as well. The last "
           "line has the overall metrics with standard errors: accuracy, acc_norm (by character), "
           "acc_bytes, acc_mutual_info; perplexity; word_perplexity, byte_perplexity, "
           "bits_per_byte. With --hypotheses it compares generated lines with references instead: "
           "BLEU and chrF as in sacreBLEU, ROUGE as in Google's rouge_score.",
       .examples = {"weft score runs/gpt-mini --task configs/score/copa.yaml",
                    "weft score runs/gpt-mini --task 'configs/score/*.yaml' --table",
                    "weft score runs/gpt-mini --text corpora/lm_wikitext2/test.txt --stride 64",
                    "weft score --hypotheses test.de --references "
                    "corpora/mt_multi30k/test2016.de --metric bleu,chrf"}},
      0, 1);
  declare_score(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  if (wants_text_scores(arguments)) {
    if (!arguments.positional().empty()) {
      throw UsageError("weft score: --hypotheses are compared without a model: omit '" +
                       arguments.positional()[0] + "'");
    }
    for (const std::string name :
         {"input", "plain", "text-column", "task", "data", "table", "text", "delimiter",
          "unconditional", "word-count", "max-length", "stride", "batch-tokens"}) {
      if (arguments.has(name)) {
        throw UsageError("weft score: --" + name + " needs a model, --hypotheses does not use one");
      }
    }
    return run_text_scores(arguments);
  }
  if (arguments.positional().empty()) {
    throw UsageError("weft score: MODEL is required, or --hypotheses FILE --references FILE");
  }
  return score_items(arguments, *join_ranks(arguments, raw));
}

}  // namespace weft::cli
