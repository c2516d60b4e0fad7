#include "cli/predict/predict.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/predict/output_writer.h"
#include "cli/predict/request_reader.h"
#include "cli/ranks.h"
#include "cli/shared_options.h"
#include "data/tokenizer.h"
#include "formats/table_reader.h"
#include "inference/predict.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/config/stack_keys.h"
#include "models/directory.h"
#include "models/inference.h"
#include "objectives/evaluation/decision_threshold.h"
#include "train/distributed/divided_blocks.h"
#include "train/step/evaluate_directory.h"

namespace weft::cli {
namespace {

/// A trained model with its tokenizer.
struct LoadedModel {
  std::string directory;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  std::shared_ptr<models::Model> model;
};

LoadedModel load_trained(const Arguments& arguments) {
  const auto directory = models::model_directory(arguments.positional()[0]);
  auto options = models::read_model_config(directory);
  models::replace_exit_rule(arguments.get("early-exit", ""), "--early-exit", options);
  inference::require_text_head(options);
  auto tokenizer = data::load_tokenizer(directory);
  auto loaded = models::load_for_inference(directory, options, read_inference(arguments));
  models::require_trained_head(directory, loaded);
  return {directory, std::move(tokenizer), std::move(loaded.model)};
}

/// Answers texts, pairs of texts and images.
class TextPredictor : public RowPredictor {
 public:
  TextPredictor(const LoadedModel& loaded,
                inference::PredictOptions options,
                RequestColumns columns)
      : model_(*loaded.model),
        tokenizer_(*loaded.tokenizer),
        options_(std::move(options)),
        columns_(std::move(columns)),
        decision_(objectives::read_decision_threshold(loaded.directory)),
        is_of_pairs_(!models::reads_images(model_.options()) &&
                     train::was_trained_on_pairs(loaded.directory)) {}

  std::vector<formats::Json> answer(const std::vector<InputRow>& rows) override {
    std::vector<inference::PredictionRequest> requests;
    for (const auto& row : rows) {
      requests.push_back(request_of(row, columns_));
      counts_.add(requests.back());
    }
    std::vector<formats::Json> answers;
    for (const auto& prediction : inference::predict(model_, tokenizer_, requests, options_)) {
      truncated_ += prediction.was_truncated ? 1 : 0;
      without_mask_ += fills_masks() && prediction.mask_predictions.empty() ? 1 : 0;
      answers.push_back(prediction_json(prediction, model_.options(), decision_));
      if (!options_.attention_layers.empty()) {
        add_attention(answers.back(), prediction.attention, tokenizer_);
      }
    }
    return answers;
  }

  void report(train::ProcessGroup& group) override {
    const auto truncated = group.sum_count(truncated_);
    const auto without_mask = group.sum_count(without_mask_);
    counts_.sum(group);
    if (!group.is_main()) {
      return;
    }
    if (truncated > 0) {
      log::warning(str_cat("[predict] ", counted(truncated, "text"), " ", was_or_were(truncated),
                           " truncated to the model's maximum of ",
                           models::text_length(model_.options()), " tokens"));
    }
    if (without_mask > 0) {
      const auto mask = tokenizer_.special_token_ids().mask;
      log::warning(str_cat("[predict] ", with_commas(without_mask), " texts have no mask token; ",
                           mask >= 0 ? "that of this model is " + tokenizer_.piece(mask)
                                     : "the tokenizer of this model has none"));
    }
    counts_.report(is_of_pairs_);
  }

 private:
  bool fills_masks() const { return models::head_of(model_.options()).predicts_masked_tokens(); }

  models::Model& model_;
  const data::Tokenizer& tokenizer_;
  inference::PredictOptions options_;
  RequestColumns columns_;
  objectives::DecisionThreshold decision_;
  bool is_of_pairs_;
  RequestCounts counts_;
  int64_t truncated_ = 0;
  int64_t without_mask_ = 0;
};

/// The texts or images of the command line, else those of --input.
std::unique_ptr<InputReader> input_of(const Arguments& arguments,
                                      bool reads_images,
                                      const train::ProcessGroup& group) {
  if (auto given = given_texts(arguments, "text", {"input", "plain"}); !given.empty()) {
    return reads_images ? input_of_images(given) : input_of_texts(std::move(given));
  }
  require_input_of_all(group, arguments);
  const auto path = arguments.get("input", "-");
  if (reads_images && path != "-" && !formats::table_kind(path)) {
    return input_of_images({path});
  }
  return open_input(arguments, LineFormat::kJson);
}

std::unique_ptr<RowPredictor> predictor_of(const Arguments& arguments,
                                           const LoadedModel& loaded,
                                           const InputReader& input) {
  const auto& model = *loaded.model;
  inference::PredictOptions options;
  options.top_k = arguments.integer("top-k", 5, 1, 1000);
  options.language = arguments.get("language", "");
  if (arguments.has("attention")) {
    options.attention_layers = read_layers(arguments, "attention", model.options().layers);
    inference::check_attention_layers(model, options.attention_layers);
  }
  if (models::head_of(model.options()).classifies_tokens) {
    const auto make = model.options().document ? make_sentence_tag_predictor : make_tag_predictor;
    return make(*loaded.model, *loaded.tokenizer,
                {.attention_layers = options.attention_layers, .language = options.language},
                columns_to_tag(arguments, input));
  }
  std::optional<std::string> column;
  if (models::reads_images(model.options())) {
    column = arguments.has("plain") ? "text" : "image";
  }
  return std::make_unique<TextPredictor>(loaded, options, read_columns(arguments, input, column));
}

/// Answers block by block. A block ends early when the writer of a pipe makes us wait, so that each
/// line is answered at once. Only rank 0 has a writer.
void answer_rows(InputReader& input,
                 RowPredictor& predictor,
                 std::size_t block,
                 const InputProgress& progress,
                 train::ProcessGroup& group,
                 std::optional<AnswerWriter>& writer) {
  train::DividedBlocks blocks(group);
  std::vector<InputRow> rows;
  const auto answer = [&] {
    const auto shared = std::make_shared<std::vector<InputRow>>(std::exchange(rows, {}));
    blocks.add([&] { return formats::Json(predictor.answer(*shared)); },
               [&writer, shared](const formats::Json& answers) {
                 for (std::size_t i = 0; i < shared->size(); ++i) {
                   writer->write((*shared)[i].fields, answers[i]);
                 }
                 writer->flush();
               });
    progress.show(input.fraction_read());
  };
  for (InputRow row; input.next(row);) {
    throw_if_stopped("predicting");
    rows.push_back(std::move(row));
    if (rows.size() == block || !input.has_input()) {
      answer();
    }
  }
  answer();
  blocks.finish();
}

void declare_predict(Arguments& arguments) {
  arguments.group("Input")
      .value("text", "TEXT", "A text, like TEXT after MODEL; may be repeated")
      .value("input", "FILE",
             "Input file with JSON lines, or a .csv or .tsv table, each optionally compressed "
             "(.gz, .zst), or a .parquet table; for image models also an image, a folder or a file "
             "of images; - (default): JSON lines from standard input")
      .flag("plain", "Treat lines of the input as plain text (for image models: paths)")
      .value("language", "NAME",
             "Language of the texts, for models with language embeddings (xlm)");
  declare_columns(arguments, true);
  arguments.group("Output")
      .value("output", "FILE",
             "Output file; .csv, .tsv and .jsonl files also get the row number and the columns of "
             "the input; - (default): JSON lines to standard output")
      .value("top-k", "N", "Number of predictions for each mask token (default: 5)")
      .value("attention", "LAYERS",
             "Add \"tokens\" and the attention weights of these layers, per head, to each line: "
             "all, last, or layer numbers from 0 (0,3)");
  declare_early_exit(arguments);
  declare_inference(arguments);
}

}  // namespace

int run_predict(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft predict MODEL [TEXT ... | --input FILE|-] [--output FILE|-] [options]",
       .description =
           "Predicts for texts of the command line, or for JSON lines {\"text\": ...} or "
           "{\"text\": ..., \"text_pair\": ...}, and writes one JSON line for each. Output by "
           "objective: {\"label\", \"score\", \"scores\"} for classification, {\"labels\", "
           "\"scores\"} for multi-label classification, {\"value\"} for regression, {\"fills\"} "
           "for the mask tokens of a masked language model, and {\"words\", \"tags\", "
           "\"scores\", \"entities\"} for token classification of {\"text\"} or {\"words\": "
           "[...]}, or {\"sentences\", \"tags\", \"scores\"} for {\"sentences\": [...]} if the "
           "model reads documents. Image models take paths of images, folders or IDX files, or "
           "{\"image\": PATH}. "
           "Lines from a pipe are answered as they come. Blank lines are skipped and counted. A "
           "decision threshold tuned in training is applied.",
       .examples =
           {"weft predict runs/quickstart/spam 'You won a prize' 'See you at six'",
            "echo '{\"text\": \"You won a prize\"}' | weft predict runs/quickstart/spam",
            "weft predict runs/quickstart/spam --input data/spam/test.tsv --output answers.csv",
            "weft predict runs/digits four.png more_digits/",
            "weft predict runs/bert-mini --input questions.jsonl --output answers.jsonl --top-k "
            "3"}},
      1, std::size_t{1} << 20);
  declare_predict(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto group = join_ranks(arguments, raw);
  const auto loaded = load_trained(arguments);
  const auto input = input_of(arguments, models::reads_images(loaded.model->options()), *group);
  const auto predictor = predictor_of(arguments, loaded, *input);
  std::optional<AnswerWriter> writer;
  if (group->is_main()) {
    writer.emplace(arguments.get("output", "-"));
  }
  // Attention weights are large: one row at a time.
  answer_rows(*input, *predictor, arguments.has("attention") ? 1 : rows_at_once(),
              InputProgress("predicting", arguments), *group, writer);
  predictor->report(*group);
  if (writer) {
    writer->commit();
    RequestCounts::report_blank("predict", input->blank_lines());
  }
  return 0;
}

}  // namespace weft::cli
