#include "inference/generate.h"

#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/generate/generation_options.h"
#include "cli/generate/prompt_reader.h"
#include "cli/predict/output_writer.h"
#include "cli/predict/request_reader.h"
#include "cli/ranks.h"
#include "cli/shared_options.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "models/directory.h"
#include "models/inference.h"
#include "train/distributed/divided_blocks.h"

namespace weft::cli {
namespace {

using inference::GenerationRequest;
using inference::GenerationResult;

/// Contents of one output line.
struct LineForm {
  bool is_plain = false;  // the text alone
  bool has_ids = false;   // ids too
  bool has_texts = true;
  bool is_list = false;  // n-best
};

formats::Json json_of_alignment(const inference::Alignment& alignment) {
  constexpr double kDigits = 1e4;
  auto rows = formats::Json::array();
  for (const auto& row : alignment.weights.unbind(0)) {
    auto values = formats::Json::array();
    for (int64_t i = 0; i < row.numel(); ++i) {
      values.push_back(std::round(row.const_data_ptr<float>()[i] * kDigits) / kDigits);
    }
    rows.push_back(std::move(values));
  }
  return {{"source", alignment.source},
          {"target", alignment.target},
          {"weights", std::move(rows)},
          {"hard", alignment.hard()}};
}

formats::Json generate_json_of(const inference::GeneratedText& found, const LineForm& form) {
  formats::Json json = formats::Json::object();
  if (form.has_texts) {
    json["text"] = found.text;
  }
  json["score"] = found.score;
  if (form.has_ids) {
    json["ids"] = found.ids;
  }
  if (found.is_truncated) {
    json["is_truncated"] = true;
  }
  if (found.alignment) {
    json["alignment"] = json_of_alignment(*found.alignment);
  }
  return json;
}

std::string generate_line_of(const GenerationRequest& query,
                             const GenerationResult& answer,
                             const LineForm& form) {
  if (form.is_plain) {
    std::string lines;
    for (const auto& found : answer.texts) {
      lines += plain_line(found.text) + "\n";
    }
    return lines;
  }
  formats::Json json = formats::Json::object();
  if (query.ids.empty()) {
    json["prompt"] = query.prompt;
  } else {
    json["prompt_ids"] = query.ids;
  }
  json.update(generate_json_of(answer.texts.at(0), form));
  if (form.is_list) {
    auto all = formats::Json::array();
    for (const auto& found : answer.texts) {
      all.push_back(generate_json_of(found, form));
    }
    json["n_best"] = std::move(all);
  }
  return json.dump(-1, ' ', false, formats::Json::error_handler_t::replace) + "\n";
}

/// A generative model, with the settings of its directory and the command line.
struct Loaded {
  std::shared_ptr<models::Model> model;
  std::unique_ptr<inference::TextGenerator> generator;
};

/// Counts of truncation to the model's length.
struct TruncationCounts {
  int64_t length = 0;  // positions of the model
  int64_t prompts = 0;
  int64_t texts = 0;

  void add(const GenerationResult& answer) {
    prompts += answer.was_truncated ? 1 : 0;
    for (const auto& found : answer.texts) {
      texts += found.is_truncated ? 1 : 0;
    }
  }
  /// Warns about texts of all ranks.
  void report(train::ProcessGroup& group);
};

/// `1 text was`, `2 texts were`
std::string counted_subject(int64_t count, std::string_view noun) {
  return counted(count, noun) + (count == 1 ? " was" : " were");
}

void TruncationCounts::report(train::ProcessGroup& group) {
  prompts = group.sum_count(prompts);
  texts = group.sum_count(texts);
  if (!group.is_main()) {
    return;
  }
  if (prompts > 0) {
    log::warning(str_cat("[generate] ", counted_subject(prompts, "prompt"),
                         " truncated to the model's maximum length"));
  }
  if (texts > 0) {
    log::warning(str_cat("[generate] ", counted_subject(texts, "text"),
                         " truncated at the model's maximum length of ", length,
                         " tokens (prompt and generated text together; model.position.length of "
                         "the training run): shorten the prompts or reduce --max-new"));
  }
}

/// Returns null if the directory has none and ids suffice.
std::shared_ptr<const data::Tokenizer> tokenizer_of(const std::string& directory, bool is_needed) {
  try {
    return data::load_tokenizer(directory);
  } catch (const UserError&) {
    if (is_needed) {
      throw;
    }
    return nullptr;
  }
}

/// Reads the draft model of speculative decoding, if one is given.
void read_draft_model(const Arguments& arguments,
                      const data::Tokenizer* tokenizer,
                      inference::GenerationSettings& settings) {
  if (!arguments.has("draft-model")) {
    if (arguments.has("draft-tokens")) {
      arguments.fail("--draft-tokens needs --draft-model");
    }
    return;
  }
  const auto directory = models::model_directory(arguments.get("draft-model"));
  const auto own = tokenizer_of(directory, false);
  if (own != nullptr && tokenizer != nullptr && own->fingerprint() != tokenizer->fingerprint()) {
    throw UserError(directory +
                    ": a draft model must have the tokenizer of the model, but has "
                    "another one");
  }
  settings.draft_model = models::load_for_inference(directory, models::read_model_config(directory),
                                                    read_inference(arguments))
                             .model;
  settings.draft_tokens = arguments.integer("draft-tokens", settings.draft_tokens, 1, 1024);
}

void report_draft(const models::DraftCounts& own, train::ProcessGroup& group) {
  const auto proposed = group.sum_count(own.proposed);
  const auto accepted = group.sum_count(own.accepted);
  if (group.is_main() && proposed > 0) {
    log::info(str_cat(
        "[generate] draft model: ", with_commas(accepted), " of ", with_commas(proposed),
        " proposed tokens were accepted (",
        std::lround(100.0 * static_cast<double>(accepted) / static_cast<double>(proposed)), " %)"));
  }
}

Loaded load(const Arguments& arguments, LineForm& form) {
  const auto directory = models::model_directory(arguments.positional()[0]);
  const auto tokenizer = tokenizer_of(directory, !form.has_ids);
  form.has_texts = tokenizer != nullptr;
  auto loaded = models::load_for_inference(directory, models::read_model_config(directory),
                                           read_inference(arguments));
  models::require_trained_head(directory, loaded);
  inference::GenerationSettings settings;
  settings.config = models::read_generation_config(directory, loaded.model->options());
  settings.decodes_text = form.has_texts;
  settings.on_step = [] { throw_if_stopped("generating"); };
  if (!settings.config.unsupported_keys.empty()) {
    log::warning(str_cat("[generate] ignored keys of the model's generation_config.json: ",
                         join(settings.config.unsupported_keys)));
  }
  read_generation(arguments, directory, tokenizer.get(), settings);
  read_draft_model(arguments, tokenizer.get(), settings);
  settings.has_alignments = arguments.has("alignments");
  form.is_list = settings.config.search.num_return_sequences > 1;
  auto generator = std::make_unique<inference::TextGenerator>(*loaded.model, tokenizer, settings);
  return {.model = loaded.model, .generator = std::move(generator)};
}

std::unique_ptr<PromptReader> prompts_of(const Arguments& arguments,
                                         const train::ProcessGroup& group) {
  if (auto given = given_texts(arguments, "prompt", {"input", "prompt-column"}); !given.empty()) {
    return prompts_from_texts(std::move(given));
  }
  require_input_of_all(group, arguments);
  PromptSource source{.path = arguments.get("input", "-"), .column = {}};
  source.is_plain = arguments.has("plain");
  if (arguments.has("prompt-column")) {
    source.column = arguments.get("prompt-column");
    if (source.is_plain) {
      throw UsageError("weft generate: --prompt-column cannot be used with --plain");
    }
  }
  return open_prompts(source);
}

/// Streams one text to standard output as it is generated.
int stream(const Arguments& arguments, inference::TextGenerator& generator, TruncationCounts cut) {
  const auto prompts = prompts_of(arguments, train::single_process());
  GenerationRequest query;
  GenerationRequest another;
  if (!prompts->next(query)) {
    throw UserError("weft generate: --stream: no prompt given");
  }
  if (prompts->next(another)) {
    throw UserError("weft generate: --stream requires a single prompt, but there are more");
  }
  query.prefix = arguments.get("prefix");
  cut.add(
      generator.stream(query, [](std::string_view piece) { std::cout << piece << std::flush; }));
  std::cout << "\n";
  cut.report(train::single_process());
  report_draft(generator.draft_counts(), train::single_process());
  return 0;
}

void check_stream(const Arguments& arguments, const train::ProcessGroup& group) {
  if (!arguments.has("stream")) {
    return;
  }
  if (group.size() > 1) {
    throw UsageError("weft generate: --stream works only in one process");
  }
  for (const std::string name : {"output", "n-best", "ids", "plain", "alignments"}) {
    if (arguments.has(name)) {
      throw UsageError(
          "weft generate: --stream writes plain text of one prompt to standard output: omit --" +
          name);
    }
  }
  if (arguments.integer("beams", 1, 1, int64_t{1} << 20) > 1) {
    throw UsageError(
        "weft generate: --stream cannot be used with beam search: the text is only known at the "
        "end");
  }
}

int answer_all(const Arguments& arguments,
               inference::TextGenerator& generator,
               const LineForm& form,
               train::ProcessGroup& group,
               TruncationCounts cut) {
  const auto prompts = prompts_of(arguments, group);
  std::optional<OutputWriter> writer;
  if (group.is_main()) {
    writer.emplace(arguments.get("output", "-"));
  }
  const auto batch = static_cast<std::size_t>(
      arguments.integer("batch-size", inference::kPromptsPerBatch, 1, int64_t{1} << 16));
  std::vector<GenerationRequest> queries;
  int64_t done = 0;
  train::DividedBlocks blocks(group);
  const InputProgress progress("generating", arguments);
  const auto lines_of_batch = [&] {
    std::string lines;
    const auto found = generator.generate(queries, done);
    for (std::size_t i = 0; i < found.size(); ++i) {
      lines += generate_line_of(queries[i], found[i], form);
      cut.add(found[i]);
    }
    return formats::Json(std::move(lines));
  };
  const auto flush = [&] {
    blocks.add(lines_of_batch, [&](const formats::Json& lines) {
      writer->write(lines.get_ref<const std::string&>());
      writer->flush();
    });
    done += static_cast<int64_t>(queries.size());
    queries.clear();
    progress.show(prompts->fraction_read());
  };
  for (GenerationRequest query; prompts->next(query);) {
    throw_if_stopped("generating");
    query.prefix = arguments.get("prefix");
    queries.push_back(std::move(query));
    if (queries.size() == batch || !prompts->has_input()) {
      flush();
    }
  }
  flush();
  blocks.finish();
  cut.report(group);
  report_draft(generator.draft_counts(), group);
  if (writer) {
    writer->commit();
    RequestCounts::report_blank("generate", prompts->blank_lines());
  }
  return 0;
}

void declare_generate(Arguments& arguments) {
  arguments.group("Input")
      .value("prompt", "TEXT",
             "Prompt to continue (or text to translate), like TEXT after MODEL; may be repeated")
      .value(
          "input", "FILE",
          "Input file with JSON lines, or a .csv or .tsv table, each optionally compressed (.gz, "
          ".zst), or a .parquet table; - (default): standard input")
      .value("prompt-column", "NAME",
             "Column (key) with the prompt (default: prompt, source or text)")
      .group("Output")
      .value("output", "FILE", "Output file; - (default): standard output")
      .flag("plain", "Read and write plain text lines, e.g. for translation")
      .flag("ids", "Add the ids of the new tokens to each line")
      .flag("stream", "Write the text of a single prompt while it is generated");
  declare_generation(arguments, HelpLevel::kHelp);
  arguments.group("Speculative decoding", HelpLevel::kHelpAll)
      .value("draft-model", "MODEL",
             "Smaller model with the same tokenizer for speculative decoding: it proposes tokens, "
             "the model checks several of them in one pass. The texts stay those of the model")
      .value("draft-tokens", "N", "Number of tokens that the draft model proposes (default: 5)");
  arguments.group("Encoder-decoders", HelpLevel::kHelpAll)
      .flag(
          "alignments",
          "Add the attention of each new token to the source, in the last layer (of a Transformer "
          "the mean of its heads): the tokens of \"source\" and \"target\", a row of \"weights\" "
          "for each target token, and in \"hard\" the index of the largest weight");
  declare_inference(arguments);
}

}  // namespace

int run_generate(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft generate MODEL [TEXT ... | --input FILE|-] [--output FILE|-] [options]",
       .description =
           "Generates text: continues prompts, or translates or answers with an encoder-decoder. "
           "Reads JSON lines {\"prompt\": ...} and writes one JSON line for each, in the same "
           "order: {\"prompt\", \"text\", \"score\"}, with --n-best also \"n_best\", a list. The "
           "score is the sum of the token log-probabilities divided by (number of tokens)^(length "
           "penalty). A text that was truncated at the model's maximum length has "
           "\"is_truncated\": "
           "true. Defaults come from the model's generation_config.json; without it decoding is "
           "greedy. With the same weights and options, greedy decoding and beam search give the "
           "same tokens as transformers.",
       .examples =
           {"weft generate runs/gpt-mini 'It was a' --temperature 0.8 --top-p 0.9 --seed "
            "3",
            "weft generate runs/multi30k-en-de --input test.en --plain --beams 5 --output test.de",
            "weft generate runs/gpt-mini 'Once upon' --stream --max-new 200"}},
      1, std::size_t{1} << 20);
  declare_generate(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  const c10::InferenceMode no_autograd;  // less bookkeeping in each of the many small operations
  const auto group = join_ranks(arguments, raw);
  check_stream(arguments, *group);
  LineForm form{.is_plain = arguments.has("plain"), .has_ids = arguments.has("ids")};
  if (form.is_plain && arguments.has("alignments")) {
    throw UsageError("weft generate: --alignments cannot be used with --plain");
  }
  const auto loaded = load(arguments, form);
  const TruncationCounts cut{.length = loaded.model->options().length};
  if (arguments.has("stream")) {
    return stream(arguments, *loaded.generator, cut);
  }
  return answer_all(arguments, *loaded.generator, form, *group, cut);
}

}  // namespace weft::cli
