#include "inference/predict.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/predict/output_writer.h"
#include "cli/predict/predict.h"
#include "cli/predict/request_reader.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"
#include "data/tokenizer.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/directory.h"
#include "objectives/evaluation/decision_threshold.h"
#include "train/run/device.h"

namespace weft::cli {
namespace {

constexpr std::size_t kPredictBlock = 1024;  // lines per block: enough for texts of similar length

class Predictor {
 public:
  Predictor(const std::string& path,
            const models::InferenceOptions& inference,
            int64_t best,
            const std::optional<std::string>& attention,
            const std::string& language)
      : directory_(models::model_directory(path)),
        tokenizer_(data::load_tokenizer(directory_)),
        decision_(objectives::read_decision_threshold(directory_)) {
    auto loaded = models::load_model(directory_, models::read_model_config(directory_), 0);
    if (!loaded.missing_keys.empty()) {
      throw formats::Error(str_cat(directory_, ": ", loaded.missing_keys.front(),
                                   " is missing: the model has no trained head"));
    }
    model_ = loaded.model;
    models::prepare_for_inference(*model_, inference);
    options_.top_k = best;
    options_.language = language;
    if (attention) {
      options_.attention_layers = read_layers(*attention, model_->options().layers);
      inference::check_attention_layers(*model_, options_.attention_layers);
    }
  }

  /// Lines per block; attention weights are large.
  std::size_t block() const { return options_.attention_layers.empty() ? kPredictBlock : 1; }

  bool reads_images() const { return models::reads_images(model_->options()); }
  bool is_tagger() const { return models::head_of(model_->options()).classifies_tokens; }
  /// Tags all lines of the file.
  void tag(const std::string& input, OutputWriter& writer) {
    const TagRequest request{.input = input,
                             .attention_layers = options_.attention_layers,
                             .language = options_.language};
    const TaggedCounts counts =
        write_tag_predictions(*model_, *tokenizer_, request, [&](const std::string& line) {
          writer.write(line);
          writer.flush();
        });
    RequestCounts::report_blank("predict", counts.blank_lines);
    if (counts.split_sentences > 0) {
      log::warning(str_cat("[predict] ", with_commas(counts.split_sentences),
                           " sentences longer than the model's maximum of ",
                           model_->options().length, " tokens were split"));
    }
  }

  void answer(const std::vector<inference::PredictionRequest>& queries, OutputWriter& writer) {
    for (const auto& prediction : inference::predict(*model_, *tokenizer_, queries, options_)) {
      truncated_ += prediction.was_truncated ? 1 : 0;
      auto line = prediction_json(prediction, model_->options(), decision_);
      if (!options_.attention_layers.empty()) {
        add_attention(line, prediction.attention, *tokenizer_);
      }
      writer.write(line.dump() + "\n");
    }
    writer.flush();
  }

  void report() const {
    if (truncated_ > 0) {
      log::warning(str_cat("[predict] ", with_commas(truncated_),
                           " texts were truncated to the model's maximum of ",
                           model_->options().length, " tokens"));
    }
  }

 private:
  std::string directory_;
  std::shared_ptr<const data::Tokenizer> tokenizer_;
  objectives::DecisionThreshold decision_;
  std::shared_ptr<models::Model> model_;
  inference::PredictOptions options_;
  int64_t truncated_ = 0;
};

RequestColumns read_columns(const Arguments& arguments) {
  RequestColumns columns;
  if (arguments.has("text-column")) {
    columns.text = arguments.get("text-column");
  }
  if (arguments.has("text-pair-column")) {
    columns.text_pair = arguments.get("text-pair-column");
  }
  return columns;
}

}  // namespace

int run_predict(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft predict MODEL [--input FILE|-] [--output FILE|-] [options]",
       .description =
           "Reads JSON lines {\"text\": ...} or {\"text\": ..., \"text_pair\": ...} and writes one "
           "JSON line for each. Output by objective: {\"label\", \"score\", \"scores\"} for "
           "classification, {\"labels\", \"scores\"} for multi-label classification, {\"value\"} "
           "for regression, {\"fills\"} for the mask tokens of a masked language model, and "
           "{\"words\", \"tags\", \"scores\", \"entities\"} for token classification of {\"text\"} "
           "or {\"words\": [...]}. Image models read {\"image\": PATH}. Labels in a table are "
           "ignored. Blank lines are skipped and counted. A decision threshold tuned in training "
           "is applied.",
       .examples =
           {"echo '{\"text\": \"You won a prize\"}' | weft predict runs/quickstart/spam",
            "weft predict runs/quickstart/spam --input data/spam/test.tsv --output answers.jsonl",
            "weft predict runs/bert-mini --input questions.jsonl --output answers.jsonl --top-k "
            "3"}},
      1, 1);
  arguments
      .value(
          "input", "FILE",
          "Input file with JSON lines, or a .csv or .tsv table, each optionally compressed (.gz, "
          ".zst), or a .parquet table; - (default): JSON lines from standard input")
      .value("text-column", "NAME",
             "Column (key) with the text (default: text, sentence1 or sentence)")
      .value("text-pair-column", "NAME",
             "Column (key) with the second text (default: text_pair or sentence2, if present)")
      .value("output", "FILE", "Output file; - (default): standard output")
      .value("top-k", "N", "Number of predictions for each mask token (default: 5)")
      .value("language", "NAME", "Language of the texts, for models with language embeddings (xlm)")
      .value("attention", "LAYERS",
             "Add \"tokens\" and the attention weights of these layers, per head, to each line: "
             "all, last, or layer numbers from 0 (0,3)")
      .value("threads", "N", "Number of CPU threads (default: all cores)");
  declare_inference(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  train::set_threads(read_threads(arguments));
  const auto attention =
      arguments.has("attention") ? std::optional(arguments.get("attention")) : std::nullopt;
  Predictor predictor(arguments.positional()[0], read_inference(arguments),
                      arguments.integer("top-k", 5, 1, 1000), attention,
                      arguments.get("language", ""));
  if (predictor.is_tagger()) {
    OutputWriter writer(arguments.get("output", "-"));
    predictor.tag(arguments.get("input", "-"), writer);
    writer.commit();
    return 0;
  }
  auto columns = read_columns(arguments);
  if (predictor.reads_images() && !columns.text) {
    columns.text = "image";
  }
  const auto requests = open_requests(arguments.get("input", "-"), columns);
  OutputWriter writer(arguments.get("output", "-"));
  RequestCounts counts;
  std::vector<inference::PredictionRequest> queries;
  for (inference::PredictionRequest query; requests->next(query);) {
    throw_if_stopped("predicting");
    counts.add(query);
    queries.push_back(query);
    if (queries.size() == predictor.block()) {
      predictor.answer(queries, writer);
      queries.clear();
    }
  }
  predictor.answer(queries, writer);
  writer.commit();
  predictor.report();
  counts.report();
  RequestCounts::report_blank("predict", requests->blank_lines());
  return 0;
}

}  // namespace weft::cli
