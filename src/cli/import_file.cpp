#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/model_output.h"
#include "data/tokenizer_options.h"
#include "data/tokenizers/fasttext/fasttext_features.h"
#include "models/baselines/fasttext.h"
#include "models/directory.h"
#include "models/ngram/arpa.h"

namespace weft::cli {

namespace {

struct ImportedFile {
  std::shared_ptr<models::Model> model;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  std::string description;
};

/// With a tokenizer of its words.
ImportedFile read_arpa_file(const std::string& path) {
  const auto arpa = models::read_arpa(path);
  const auto& options = arpa.model->options();
  return {
      .model = arpa.model,
      .tokenizer = data::make_word_level_tokenizer(arpa.words, formats::TokenizerTemplate::kBosEos),
      .description = str_cat(options.ngram.order, "-gram model of ",
                             with_commas(options.vocabulary), " words")};
}

ImportedFile read_fasttext(const std::string& path) {
  auto file = formats::read_fasttext_file(path);
  auto model = models::fasttext_model(file);
  const auto rows = file.is_pruned
                        ? std::make_shared<const std::vector<int64_t>>(std::move(file.bucket_rows))
                        : nullptr;
  auto tokenizer = data::make_fasttext_tokenizer({.word_ngrams = file.word_ngrams,
                                                  .min_chars = file.min_chars,
                                                  .max_chars = file.max_chars,
                                                  .buckets = file.buckets},
                                                 file.words, rows);
  return {.model = std::move(model),
          .tokenizer = std::move(tokenizer),
          .description = str_cat("fastText classifier, ", with_commas(file.labels.size()),
                                 " classes, ", with_commas(file.words.size()), " words and ",
                                 with_commas(file.input.rows - std::ssize(file.words)),
                                 " n-grams x ", file.input.columns)};
}

struct FileFormat {
  std::string_view suffix;
  std::string_view name;
  ImportedFile (*read)(const std::string& path);
};
constexpr std::array<FileFormat, 4> kFileFormats = {{
    {".arpa", "an ARPA file", read_arpa_file},
    {".arpa.gz", "an ARPA file", read_arpa_file},
    {".bin", "a fastText model", read_fasttext},
    {".ftz", "a fastText model", read_fasttext},
}};

}  // namespace

bool import_file(const Arguments& arguments, const std::string& output) {
  const auto& path = arguments.positional()[0];
  const auto* format = std::ranges::find_if(
      kFileFormats, [&](const auto& one) { return path.ends_with(one.suffix); });
  if (format == kFileFormats.end() || path.ends_with("pytorch_model.bin")) {
    return false;
  }
  for (const auto* option : {"head", "labels", "base", "dtype"}) {
    if (arguments.has(option)) {
      throw UsageError(str_cat("weft import: --", option, " cannot be used with ", format->name));
    }
  }
  const auto imported = format->read(path);
  write_directory(output, [&](const std::string& working) {
    imported.tokenizer->save(working, imported.model->options().length);
    models::save_model(working, *imported.model, formats::DType::kF32);
  });
  log::info(str_cat("[import] ", path, " -> ", output, ", ", imported.description));
  return true;
}

}  // namespace weft::cli
