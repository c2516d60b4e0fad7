#include <filesystem>
#include <iostream>
#include <memory>

#include "base/file.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/predict/answers.h"
#include "cli/predict/inference_options.h"
#include "cli/score/score_items.h"
#include "cli/score/score_table.h"
#include "cli/score/text_scores.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "inference/choice_figures.h"
#include "inference/likelihood.h"
#include "models/directory.h"
#include "train/run/device.h"

namespace weft::cli {
namespace {

using formats::Json;
using inference::Continuation;
using inference::Likelihood;
using inference::ScoreItem;

constexpr std::size_t kScoreBlock = 256;  // questions answered at once

/// Questions whose figures belong together: those of a task, or without one all.
struct Asked {
  std::string task;
  std::unique_ptr<ScoreItems> items;
};

/// Answers questions in blocks and gathers the figures.
class Scorer {
 public:
  Scorer(const std::string& path, const Arguments& arguments)
      : directory_(models::model_directory(path)),
        tokenizer_(data::load_tokenizer(directory_)),
        is_compared_(arguments.has("unconditional")) {
    auto loaded = models::load_model(directory_, models::read_model_config(directory_), 0);
    if (!loaded.fresh.empty()) {
      throw formats::Error(text(directory_, ": ", loaded.fresh.front(),
                                " is missing: the model has no trained head"));
    }
    model_ = loaded.model;
    models::prepare_for_inference(*model_, read_inference(arguments));
    scorer_ = std::make_unique<inference::LikelihoodScorer>(
        *model_, *tokenizer_,
        inference::LikelihoodSettings{
            .batch_tokens = arguments.integer("batch-tokens", 4096, 1, int64_t{1} << 24),
            .on_step = [] { leave_if_stopped("scoring"); }});
  }

  /// All that is asked, with figures of its own; without `answers` no line is written.
  TaskFigures answer(const Asked& asked, int64_t words, Answers* answers) {
    figures_ = {};
    std::vector<ScoreItem> items;
    for (ScoreItem item; asked.items->next(item);) {
      items.push_back(std::move(item));
      if (items.size() == kScoreBlock) {
        answer(items, answers);
        items.clear();
      }
    }
    answer(items, answers);
    return {asked.task, figures_.result(words)};
  }

  void report() const {
    if (cut_ > 0) {
      log::warning(text("[score] ", with_commas(cut_),
                        " contexts were cut, from their begin, to what the model reads"));
    }
  }

 private:
  void answer(const std::vector<ScoreItem>& items, Answers* answers) {
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
      if (is_compared_ && item.choices.size() > 1) {
        for (const auto& choice : item.choices) {
          asked.push_back({"", inference::continuation_of(item, choice)});
        }
      }
    }
    const auto found = scorer_->score(asked);
    const auto read = texts.empty() ? std::vector<Likelihood>{} : scorer_->score_texts(texts);
    std::size_t at = 0;
    std::size_t text = 0;
    for (const auto& item : items) {
      const auto line = item.text                  ? text_line(*item.text, read[text++])
                        : item.choices.size() == 1 ? continuation_line(item, found[at++])
                                                   : choice_line(item, found, at);
      if (answers != nullptr) {
        answers->write(line.dump() + "\n");
      }
    }
    if (answers != nullptr) {
      answers->flush();
    }
  }

  Json text_line(const std::string& whole, const Likelihood& found) {
    const auto words = inference::split_count(whole);
    const auto bytes = static_cast<int64_t>(whole.size());
    figures_.add_text(found, words, bytes);
    return {{"log_probability", found.log_probability},
            {"tokens", found.tokens},
            {"words", words},
            {"bytes", bytes}};
  }

  Json continuation_line(const ScoreItem& item, const Likelihood& found) {
    cut_ += found.was_cut ? 1 : 0;
    if (item.label) {  // a list of one choice
      figures_.add({.texts = item.choices,
                    .log_probabilities = {found.log_probability},
                    .label = item.label});
      return {{"log_probabilities", {found.log_probability}}, {"prediction", 0}};
    }
    figures_.add_continuation(found);
    return {{"log_probability", found.log_probability},
            {"is_greedy", found.is_greedy},
            {"tokens", found.tokens}};
  }

  Json choice_line(const ScoreItem& item, const std::vector<Likelihood>& found, std::size_t& at) {
    inference::ScoreFigures::Choices choices{
        .texts = item.choices, .log_probabilities = {}, .label = item.label};
    for (std::size_t i = 0; i < item.choices.size(); ++i, ++at) {
      cut_ += found[at].was_cut ? 1 : 0;
      choices.log_probabilities.push_back(found[at].log_probability);
    }
    if (is_compared_) {
      for (std::size_t i = 0; i < item.choices.size(); ++i, ++at) {
        choices.unconditional.push_back(found[at].log_probability);
      }
    }
    figures_.add(choices);
    Json line{{"log_probabilities", choices.log_probabilities},
              {"prediction", inference::best_of(choices.log_probabilities)}};
    if (is_compared_) {
      line["unconditional"] = choices.unconditional;
    }
    if (item.label) {
      line["label"] = *item.label;
    }
    return line;
  }

  std::string directory_;
  std::shared_ptr<const data::Tokenizer> tokenizer_;
  bool is_compared_;
  std::shared_ptr<models::Model> model_;
  std::unique_ptr<inference::LikelihoodScorer> scorer_;
  inference::ScoreFigures figures_;
  int64_t cut_ = 0;
};

std::vector<Asked> tasks_from(const Arguments& arguments) {
  std::vector<std::string> files;
  for (const auto& pattern : arguments.all("task")) {
    const auto found = glob_paths(pattern);
    if (found.empty()) {
      throw UsageError("weft score: --task '" + pattern + "' matches no file");
    }
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.size() > 1 && arguments.has("data")) {
    throw UsageError(
        text("weft score: --data replaces the data of one task, --task names ", files.size()));
  }
  std::vector<Asked> tasks;
  for (const auto& file : files) {
    tasks.push_back({std::filesystem::path(file).stem(), open_task(file, arguments.all("data"))});
  }
  return tasks;
}

std::vector<Asked> asked_in(const Arguments& arguments) {
  std::vector<std::string> sources;
  for (const std::string name : {"input", "task", "text"}) {
    if (arguments.has(name)) {
      sources.push_back("--" + name);
    }
  }
  if (sources.size() > 1) {
    throw UsageError("weft score: " + sources[0] + " and " + sources[1] + " exclude each other");
  }
  if (arguments.has("data") && !arguments.has("task")) {
    throw UsageError("weft score: --data replaces the data of a --task FILE");
  }
  if (arguments.has("delimiter") && !sources.empty() && sources[0] != "--input") {
    throw UsageError("weft score: --delimiter is for --input; a task file has its own");
  }
  if (arguments.has("words") && arguments.has("task")) {
    throw UsageError("weft score: --words is for whole texts (--text, or lines with \"text\")");
  }
  if (arguments.has("task")) {
    return tasks_from(arguments);
  }
  if (arguments.has("table")) {
    throw UsageError("weft score: --table is for --task FILE");
  }
  const auto delimiter =
      arguments.has("delimiter") ? std::optional(arguments.get("delimiter")) : std::nullopt;
  std::vector<Asked> asked;
  asked.push_back({"", arguments.has("text") ? open_texts(arguments.all("text"))
                                             : open_items(arguments.get("input", "-"), delimiter)});
  return asked;
}

Json score_json_of(const TaskFigures& figures) {
  Json json = Json::object();
  if (!figures.task.empty()) {
    json["task"] = figures.task;
  }
  for (const auto& [name, value] : figures.figures) {
    if (name == "items") {
      json[name] = static_cast<int64_t>(value);
    } else {
      json[name] = value;
    }
  }
  return json;
}

void declare_score(Arguments& arguments) {
  arguments
      .value("input", "FILE", "JSON lines to read (.gz is unpacked); - (default): standard input")
      .value("task", "FILE",
             "A task file (configs/score/*.yaml): tables, and how they are asked; a shell pattern, "
             "and may be repeated")
      .value("data", "FILE", "Tables instead of those of the task; may be repeated")
      .flag("table", "The figures of each task as a row of one table, instead of JSON lines")
      .value("text", "FILE", "A text to read as a whole; may be repeated")
      .value("output", "FILE", "Where to write; - (default) is standard output")
      .value("delimiter", "TEXT",
             "What stands between context and choice (a space where neither has white space "
             "there)")
      .flag("unconditional", "Ask for each choice without its context too, for acc_mutual_info")
      .value("words", "N", "Words that perplexities count, instead of those in the texts")
      .value("batch-tokens", "N", "Tokens computed at once (4096); changes no figure");
  declare_text_scores(arguments);
  arguments.value("threads", "N", "Threads of the arithmetic (all cores)");
  declare_inference(arguments);
}

int score_items(const Arguments& arguments) {
  train::set_threads(read_threads(arguments));
  const auto all = asked_in(arguments);
  const auto words = arguments.integer("words", 0, 0, int64_t{1} << 50);
  const bool is_table = arguments.has("table");
  Scorer scorer(arguments.positional()[0], arguments);
  Answers answers(arguments.get("output", "-"));
  std::vector<TaskFigures> found;
  for (const auto& asked : all) {
    log::set_status("scoring " + asked.task);
    found.push_back(scorer.answer(asked, words, is_table ? nullptr : &answers));
    if (!is_table) {
      answers.write(score_json_of(found.back()).dump() + "\n");
    }
  }
  log::set_status("");
  if (is_table) {
    answers.write(score_table(found));
  }
  answers.commit();
  scorer.report();
  return 0;
}

}  // namespace

int run_score(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft score MODEL [--input FILE|- | --task FILE | --text FILE] [options]\n"
                "       weft score --hypotheses FILE --references FILE [options]",
       .about =
           "How likely a model finds what may follow, by the conventions of "
           "lm-evaluation-harness. Reads JSON lines {\"context\", \"choices\": [...], \"label\"} "
           "and writes {\"log_probabilities\", \"prediction\"}; {\"context\", \"continuation\"} "
           "gives {\"log_probability\", \"is_greedy\"}, {\"text\"} the log-probability of the "
           "whole text. What `weft generate --n-best` writes is scored again. The last line has "
           "the figures of all, with standard errors: accuracy, acc_norm (by character), "
           "acc_bytes, acc_mutual_info; perplexity; word_perplexity, byte_perplexity, "
           "bits_per_byte. Or compares lines with references: BLEU and chrF as sacreBLEU, ROUGE "
           "as Google's rouge_score.",
       .examples = {"weft score runs/gpt-mini --task configs/score/copa.yaml",
                    "weft score runs/gpt-mini --task 'configs/score/*.yaml' --table",
                    "weft score runs/gpt-mini --text corpora/lm_wikitext2/test.txt --words 245569",
                    "weft score --hypotheses test.de --references "
                    "corpora/mt_multi30k/test2016.de --metric bleu,chrf"}},
      0, 1);
  declare_score(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  if (wants_text_scores(arguments)) {
    if (!arguments.positional().empty()) {
      throw UsageError("weft score: --hypotheses are compared without a model: leave out '" +
                       arguments.positional()[0] + "'");
    }
    for (const std::string name : {"input", "task", "data", "table", "text", "delimiter",
                                   "unconditional", "words", "batch-tokens"}) {
      if (arguments.has(name)) {
        throw UsageError("weft score: --" + name + " asks a model, --hypotheses none");
      }
    }
    return run_text_scores(arguments);
  }
  if (arguments.positional().empty()) {
    throw UsageError("weft score: MODEL is missing, or --hypotheses FILE --references FILE");
  }
  return score_items(arguments);
}

}  // namespace weft::cli
