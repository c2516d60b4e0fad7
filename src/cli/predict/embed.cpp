#include "inference/embed.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/log.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/predict/embeddings_writer.h"
#include "cli/predict/request_reader.h"
#include "cli/ranks.h"
#include "cli/shared_options.h"
#include "data/tokenizer.h"
#include "formats/json.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "models/inference.h"
#include "models/sentence.h"
#include "train/distributed/divided_blocks.h"

namespace weft::cli {
namespace {

models::SentenceModel read_model(const Arguments& arguments) {
  const auto& path = arguments.positional()[0];
  auto model = models::read_sentence_model(path);
  if (model.is_declared && arguments.has("pooling")) {
    throw UsageError(
        str_cat("weft embed: --pooling: ", path, " defines its own pooling: omit the option"));
  }
  if (arguments.has("pooling")) {
    model.options.poolings = {
        arguments.choice("pooling", nn::SentencePooling{}, models::poolings())};
  }
  model.options.normalizes = model.options.normalizes || arguments.has("normalize");
  model.options.prompt = arguments.get("prompt", model.options.prompt);
  if (arguments.has("max-length")) {
    model.options.length = arguments.integer("max-length", 0, 1, int64_t{1} << 30);
  }
  return model;
}

class Embedder {
 public:
  Embedder(models::SentenceModel sentence,
           const models::InferenceOptions& inference,
           std::optional<int64_t> batch_tokens,
           std::string language)
      : sentence_(std::move(sentence)),
        tokenizer_(data::load_tokenizer(sentence_.directory)),
        batch_tokens_(batch_tokens),
        language_(std::move(language)) {
    auto options = models::read_model_config(sentence_.directory);
    options.head = models::bare_head(options);  // does not require a pooler
    model_ = models::load_for_inference(sentence_.directory, options, inference).model;
  }

  at::Tensor operator()(const std::vector<std::string>& texts) {
    auto result =
        inference::embed(*model_, *tokenizer_, texts, sentence_.options, batch_tokens_, language_);
    texts_ += static_cast<int64_t>(texts.size());
    truncated_ += result.truncated;
    without_tokens_ += result.empty_texts;
    return result.vectors;
  }

  /// Warns about texts of all ranks.
  void report(train::ProcessGroup& group) const {
    const auto texts = with_commas(group.sum_count(texts_));
    const auto truncated = group.sum_count(truncated_);
    const auto without_tokens = group.sum_count(without_tokens_);
    if (!group.is_main()) {
      return;
    }
    if (truncated > 0) {
      log::warning(str_cat("[embed] ", with_commas(truncated), " of ", texts, " texts ",
                           was_or_were(truncated), " truncated to ",
                           std::min(sentence_.options.length.value_or(model_->options().length),
                                    model_->options().length),
                           " tokens"));
    }
    if (without_tokens > 0) {
      log::warning(str_cat("[embed] ", with_commas(without_tokens), " of ", texts,
                           " texts have no tokens: their vectors are zero"));
    }
  }

 private:
  models::SentenceModel sentence_;
  std::shared_ptr<const data::Tokenizer> tokenizer_;
  std::shared_ptr<models::Model> model_;
  std::optional<int64_t> batch_tokens_;
  std::string language_;
  int64_t texts_ = 0;
  int64_t truncated_ = 0;
  int64_t without_tokens_ = 0;
};

/// (texts, E) fp32, exactly.
formats::Json json_of(const at::Tensor& vectors) {
  const auto rows = vectors.contiguous();
  const auto* const bytes = static_cast<const uint8_t*>(rows.const_data_ptr());
  return {{"size", {rows.size(0), rows.size(1)}},
          {"values", formats::Json::binary(std::vector<uint8_t>(bytes, bytes + rows.nbytes()))}};
}

at::Tensor vectors_of(const formats::Json& json) {
  auto vectors = at::empty({json["size"][0], json["size"][1]}, at::kFloat);
  std::memcpy(vectors.mutable_data_ptr(), json["values"].get_binary().data(), vectors.nbytes());
  return vectors;
}

void declare_embed(Arguments& arguments) {
  arguments.group("Input")
      .value("text", "TEXT", "A text, like TEXT after MODEL; may be repeated")
      .value("input", "FILE",
             "Input file with one text or JSON object per line, or a .csv or .tsv table, each "
             "optionally compressed (.gz, .zst), or a .parquet table; - (default): standard input")
      .flag("plain", "Treat lines as plain text even if they look like JSON or a table")
      .value("prompt", "TEXT", "Text put before every input text")
      .value("max-length", "N",
             "Maximum tokens per text, including special tokens; longer texts are truncated")
      .value("language", "NAME",
             "Language of the texts, for models with language embeddings (xlm)");
  declare_columns(arguments, false);
  arguments.group("Output")
      .value("output", "FILE", "Output file; - (default): standard output")
      .value("format", "FORMAT", "jsonl (default), tsv or safetensors (one tensor `embeddings`)")
      .value("pooling", "HOW",
             "Pooling of a plain encoder: mean (default), cls, max, mean_sqrt_len_tokens, "
             "weightedmean or lasttoken")
      .flag("normalize", "Normalize every vector to length 1")
      .group("Performance");
  declare_batch_tokens(arguments);
  declare_inference(arguments);
}

}  // namespace

int run_embed(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft embed MODEL [TEXT ... | --input FILE|-] [--output FILE|-] [options]",
       .description =
           "Computes sentence embeddings of texts of the command line, of lines of text, of JSON "
           "lines {\"text\": ...} or of a table, and writes one vector for each, in the same "
           "order. MODEL is a sentence-transformers directory (its pooling, maximum length and "
           "normalization are used) or any encoder.",
       .examples = {"weft embed pretrained/minilm 'A man plays a guitar.' 'Someone makes music.'",
                    "weft embed runs/bert-mini --input texts.jsonl.gz --pooling cls --normalize "
                    "--format safetensors --output vectors.safetensors"}},
      1, std::size_t{1} << 20);
  declare_embed(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto group = join_ranks(arguments, raw);
  auto given = given_texts(arguments, "text", {"input", "plain"});
  if (given.empty()) {
    require_input_of_all(*group, arguments);
  }
  const auto writer = group->is_main() ? make_embeddings_writer(arguments) : nullptr;
  Embedder embedder(read_model(arguments), read_inference(arguments), read_batch_tokens(arguments),
                    arguments.get("language", ""));
  const auto input = given.empty() ? open_input(arguments, LineFormat::kDetected)
                                   : input_of_texts(std::move(given));
  const auto columns = read_columns(arguments, *input);
  const auto block = rows_at_once();
  std::vector<std::string> texts;
  train::DividedBlocks blocks(*group);
  const InputProgress progress("embedding", arguments);
  const auto embed_block = [&] {
    if (!texts.empty()) {
      blocks.add([&] { return json_of(embedder(texts)); },
                 [&](const formats::Json& vectors) { writer->write(vectors_of(vectors)); });
      texts.clear();
      progress.show(input->fraction_read());
    }
  };
  for (InputRow row; input->next(row);) {
    throw_if_stopped("embedding");
    texts.push_back(request_of(row, columns).text);
    if (texts.size() == block || !input->has_input()) {
      embed_block();
    }
  }
  embed_block();
  blocks.finish();
  embedder.report(*group);
  if (writer) {
    writer->commit();
    RequestCounts::report_blank("embed", input->blank_lines());
  }
  return 0;
}

}  // namespace weft::cli
