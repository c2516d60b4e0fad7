#include "data/data_options.h"

#include <algorithm>

#include "base/file.h"
#include "base/string_util.h"
#include "data/rows/tagged_rows.h"
#include "formats/line_reader.h"
#include "formats/table_reader.h"

namespace weft::data {
namespace {

const config::Choices<std::optional<Truncation>> kTruncations = {
    {"auto", std::nullopt},
    {"cut", Truncation::kTruncate},
    {"split", Truncation::kSplit},
    {"drop", Truncation::kDrop},
};
const config::Choices<Pack> kPacks = {
    {"document", Pack::kDocument},
    {"stream", Pack::kStream},
    {"none", Pack::kNone},
};
const config::Choices<DocumentBoundary> kDocumentBoundaries = {
    {"empty_line", DocumentBoundary::kEmptyLine},
    {"line", DocumentBoundary::kLine},
    {"file", DocumentBoundary::kFile},
};
const config::Choices<SentenceBoundary> kSentenceBoundaries = {
    {"line", SentenceBoundary::kLine},
    {"punctuation", SentenceBoundary::kPunctuation},
};

bool is_glob(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> expand_paths(const config::Section& section,
                                      std::string_view key,
                                      const std::string& path) {
  if (path.empty()) {
    section.fail(key, "an empty path, must name a file");
  }
  auto files = glob_paths(path);
  if (files.empty()) {
    section.fail(key,
                 str_cat("'", path, "': ", is_glob(path) ? "no file matches" : "no such file"));
  }
  return files;
}

/// Resolves one file, or two that are aligned line by line and need no `path`.
void resolve_files(const config::Section& section,
                   const std::optional<std::string>& path,
                   DataItem& item) {
  if (path) {
    item.path = *path;
    item.files = expand_paths(section, "path", item.path);
    return;
  }
  if (!item.source || !item.target) {
    section.fail(item.source   ? "target"
                 : item.target ? "source"
                               : "path",
                 "missing: an item must have either `path`, or both `source` and `target` (two "
                 "line-aligned files)");
  }
  item.files = expand_paths(section, "source", *item.source);
  item.target_files = expand_paths(section, "target", *item.target);
  if (item.files.size() != item.target_files.size()) {
    section.fail("target", str_cat("'", *item.target, "' matches ", item.target_files.size(),
                                   " files, but source matches ", item.files.size(),
                                   ": the number of files must be equal"));
  }
  item.path = *item.source;
}

/// A column named by the user must be in every file.
void check_column(const config::Section& section,
                  const DataItem& item,
                  std::string_view key,
                  const std::optional<std::string>& column) {
  if (!column) {
    return;
  }
  for (const std::string& file : item.files) {
    const auto kind = formats::table_kind(file);
    if (kind != formats::TableKind::kJsonl && column_number(*column)) {
      continue;  // file with one word per line: checked when it is read
    }
    const auto& named = tagged_columns(file);
    if (std::find(named.begin(), named.end(), *column) != named.end()) {
      continue;
    }
    if (!kind) {
      std::string_view line;
      formats::LineReader(file).next(line);  // throws if the file is not text
      section.fail(
          key, str_cat("'", file,
                       "' has no column names, must be a csv, tsv, jsonl or parquet file, or give "
                       "the column number"));
    }
    check_column_of_table(section, key, *column, {.file = file, .options = item.table});
  }
}

void read_table_keys(config::Section& section, formats::TableOptions& options) {
  std::optional<std::string> delimiter;
  section.read(
      "delimiter", delimiter,
      {.help = "Character between the fields of a csv file, such as ';' or '|'. Default: as "
               "a first line `sep=;` says, else a comma, or if the first line has none, "
               "its most frequent of semicolon, tab and `|`.",
       .only_if = "csv files"});
  if (delimiter && delimiter->size() != 1) {
    section.report("delimiter", str_cat(quoted_text(*delimiter), ", must be one ASCII character"));
  } else if (delimiter) {
    options.delimiter = delimiter->front();
  }
  section.read("header", options.has_header,
               {.help = "Whether the first line of a csv or tsv file has the column names. Without "
                        "it, columns are given by number: `text: 2`.",
                .only_if = "csv or tsv files"});
}

void check_table_keys(const config::Section& section, const DataItem& item) {
  for (const auto& file : item.files) {
    const auto kind = formats::table_kind(file);
    const bool is_csv = kind == formats::TableKind::kCsv;
    if (item.table.delimiter && !is_csv) {
      section.report("delimiter", "only for csv files, not for " + file);
    }
    if (!item.table.has_header && !is_csv && kind != formats::TableKind::kTsv) {
      section.report("header", "only for csv and tsv files, not for " + file);
    }
  }
}

/// Reports a table whose columns cannot be read, such as an empty file.
void check_headers(const config::Section& section, const DataItem& item) {
  for (const auto& file : item.files) {
    const auto kind = formats::table_kind(file);
    if (!kind || kind == formats::TableKind::kJsonl) {
      continue;
    }
    try {
      formats::read_column_names(file, *kind, item.table);
    } catch (const formats::Error& error) {
      section.fail("path", error.what());
    }
  }
}

DataItem read_item(config::Section& section) {
  DataItem item;
  std::optional<std::string> path;
  section.read(
      "path", path,
      {.help =
           "Data file, a glob pattern that matches several (`corpus/*.txt`), or a directory: of "
           "texts, or with one subdirectory of texts or images per class. Formats: .txt, .csv, "
           ".tsv, .jsonl, .conll, .conllu, each optionally compressed (.gz, .zst), and .parquet.",
       .only_if = "no source and target files"});
  section.read("weight", item.weight,
               {.help = "Sampling weight: how many times each example is seen per epoch. 0.5 uses "
                        "a new random half of the examples in every epoch.",
                .range = {.min = 0, .max = 1e6, .is_min_exclusive = true}});
  section.read("language", item.language,
               {.help = "Language of the texts (for translation pairs: of the source). Used for "
                        "language sampling (data.sampling_alpha), for the language embeddings of "
                        "xlm models, and for the language tokens of mbart models (e.g. en_XX)."});
  section.read("target_language", item.target_language,
               {.help = "Language of the target texts; see `language`.",
                .only_if = "translation_lm and an xlm model, or seq2seq and an mbart model"});
  section.read(
      "text", item.text,
      {.help = "Column with the text. Default: the first of `text`, `sentence1`, `sentence` that "
               "exists. For token classification: the column with the list of words (default "
               "`words` or `tokens`), or a column number for CoNLL files. In JSON lines and "
               "Parquet files a dot selects a nested field: `translation.en`.",
       .only_if = "csv, tsv, jsonl, parquet or conll files"});
  section.read("text_pair", item.text_pair,
               {.help = "Column with the second text of a sentence pair. Default: `text_pair` or "
                        "`sentence2`, if the file has one of them.",
                .only_if = "csv, tsv, jsonl or parquet files"});
  section.read(
      "label", item.label,
      {.help = "Column with the class label or the regression target. Default: `label`. For token "
               "classification: the column with the list of tags (default `labels`, `tags` or "
               "`ner_tags`), or a column number for CoNLL files (default: the last column).",
       .only_if = "csv, tsv, jsonl, parquet or conll files"});
  section.read(
      "labels", item.labels,
      {.help =
           "Several label columns, one number each: the targets of a multi-output regression, or 1 "
           "and 0 for each class of a multi-label task. The column names become the class names.",
       .only_if = "csv, tsv, jsonl or parquet files"});
  section.read("names_file", item.names_file,
               {.help = "File with the class names, one per line, in the order of the numeric "
                        "labels (from 0). Default: the numbers are the class names."});
  read_table_keys(section, item.table);
  read_image_item(section, item.image);
  if (!item.labels.empty() && item.label) {
    section.report("labels", "given together with label, only one of the two is allowed");
  }
  section.read("source", item.source,
               {.help = "Column with the source text. Default: `source`. If the item has no "
                        "`path`: a file with one source text per line.",
                .only_if = "text pairs"});
  section.read(
      "target", item.target,
      {.help = "Column with the target text. Default: `target`. If the item has no `path`: a file "
               "with one target text per line, aligned with the source file.",
       .only_if = "text pairs"});
  if (!section.is_documenting()) {
    resolve_files(section, path, item);
    check_table_keys(section, item);
    check_headers(section, item);
    check_column(section, item, "text", item.text);
    check_column(section, item, "text_pair", item.text_pair);
    if (item.image.kind != ImageKind::kPixels) {  // its columns may be unnamed
      check_column(section, item, "label", item.label);
    }
    if (item.target_files.empty()) {
      check_column(section, item, "source", item.source);
      check_column(section, item, "target", item.target);
    }
    for (const std::string& column : item.labels) {
      check_column(section, item, "labels", column);
    }
  }
  section.reject_unread();
  return item;
}

std::vector<DataItem> read_items(config::Section& section,
                                 std::string_view key,
                                 const config::KeySpec& about) {
  std::vector<DataItem> items;
  for (config::Section& item : section.sections(key, about)) {
    item.attempt([&] { items.push_back(read_item(item)); });
  }
  if (about.is_required && items.empty() && !section.is_documenting() && section.is_valid(key)) {
    section.fail(key, "an empty list, must name at least one file");
  }
  return items;
}

void read_packing(config::Section& section, DataOptions& options) {
  section.read_choice(
      "overflow", options.truncation, kTruncations,
      {.help = "What to do with texts longer than `length`. cut: truncate the end (labelled texts "
               "and translation pairs are truncated at the start if the tokenizer has "
               "truncation_side: left). split: split into several sequences. drop: skip the text. "
               "auto: split for running text, cut for labelled texts."});
  section.read_choice(
      "pack", options.pack, kPacks,
      {.help = "Sequence packing for running text. document: fill a sequence with lines of one "
               "document. stream: fill it with lines across document boundaries, with a separator "
               "token between documents. none: one line per sequence (no packing). For causal "
               "language modelling: document puts one document into each sequence; stream "
               "concatenates all documents and splits the stream every `length` tokens."});
  section.read(
      "streams", options.streams,
      {.help =
           "Number of streams into which running text is divided, each of which "
           "continues from step to step with the state that recurrent layers left "
           "(truncated backpropagation through time), or the memory of attention type "
           "transformer_xl or of memory slots; evaluation reads the text as one stream. Needs "
           "pack: stream, shuffle: false, and as many train.batch_sequences. null: each sequence "
           "begins without a state.",
       .unit = "streams",
       .range = config::between(1, 1 << 20),
       .only_if = "pack: stream"});
  section.read("length", options.length,
               {.help = "Maximum sequence length in tokens, including special tokens; longer texts "
                        "follow data.overflow. null: the model's maximum.",
                .unit = "tokens",
                .range = config::between(4, 1 << 24)});
  section.read_choice(
      "document_boundary", options.document, kDocumentBoundaries,
      {.help = "Document boundary in plain text files. The end of a file always ends a document."});
  section.read_choice(
      "sentence_boundary", options.sentence, kSentenceBoundaries,
      {.help = "Sentence boundary in plain text files. line: one sentence per line. punctuation: a "
               "line is also split at sentence-ending punctuation."});
}

void read_languages(config::Section& section, DataOptions& options) {
  section.read("sampling_alpha", options.languages.alpha,
               {.help = "Exponent for language sampling (arXiv:1901.07291): a language is sampled "
                        "in proportion to its token count to this power, so values below 1 "
                        "oversample low-resource languages. null or 1: proportional to the data. "
                        "The number of sequences per epoch does not change.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  const auto has_language = [](const DataItem& item) { return !item.language.empty(); };
  if (options.languages.alpha && !section.is_documenting() &&
      !std::all_of(options.train.begin(), options.train.end(), has_language)) {
    section.report("sampling_alpha", "every item of data.train must name its `language`");
  }
}

void read_label_format(config::Section& section, DataOptions& options) {
  static const config::Choices<Unlabelled> kUnlabelled = {{"error", Unlabelled::kRefuse},
                                                          {"drop", Unlabelled::kDrop}};
  section.read("label_separator", options.label_separator,
               {.help = "Separator between several labels in one csv or tsv field (e.g. `a;b`). In "
                        "jsonl and parquet files a list works as well."});
  if (options.label_separator && options.label_separator->empty()) {
    section.report("label_separator", "an empty text, must have at least one character");
  }
  section.read_choice(
      "unlabelled", options.unlabelled, kUnlabelled,
      {.help = "How to treat rows with an empty label: raise an error, or skip and count them. In "
               "multi-label data an empty label is allowed and means no class."});
}

}  // namespace

bool DataItem::reads_row(int64_t row) const {
  return !rows || std::binary_search(rows->begin(), rows->end(), row);
}

void check_column_of_table(const config::Section& section,
                           std::string_view key,
                           const std::string& column,
                           const TableFile& table) {
  const auto kind = formats::table_kind(table.file).value();
  if (kind == formats::TableKind::kJsonl) {
    return;
  }
  const auto columns = formats::read_column_names(table.file, kind, table.options);
  if (!formats::find_column(column, columns)) {
    const auto near = did_you_mean(column, columns);
    section.report(key,
                   str_cat("'", column, "' is not a column of ", table.file,
                           near.empty() ? "" : str_cat(" (did you mean ", quoted_text(near), "?)"),
                           ", which has ", quoted_text(columns)));
  }
}

DataOptions read_data_options(config::Section& section) {
  DataOptions options;
  options.train = read_items(section, "train",
                             {.help = "Training data: a list of files.", .is_required = true});
  options.evaluate = read_items(section, "evaluate",
                                {.help = "Evaluation data for evaluation during training: a list "
                                         "of files. If not given, the run evaluates on the part "
                                         "of the training data that data.split holds out, if "
                                         "any."});
  section.read(
      "shuffle", options.shuffle,
      {.help = "Shuffles the examples in every epoch. false: keep the order of the files."});
  read_packing(section, options);
  read_languages(section, options);
  read_label_format(section, options);
  read_row_division(section, options);
  auto images = section.section(
      "images", {.help = "Image preprocessing: resizing, cropping and normalization.",
                 .only_if = "image models"});
  read_image_options(images, options.images);
  auto augment =
      section.section("augment", {.help = "Data augmentation of training images, drawn anew in "
                                          "every epoch. Evaluation images are never augmented.",
                                  .only_if = "image models"});
  read_augment_options(augment, options.augment);
  section.read("cache_dir", options.cache,
               {.help = "Cache directory for tokenized text, reused by later runs. null: "
                        "$WEFT_CACHE, or else the user's cache directory."});
  section.read("num_workers", options.workers,
               {.help = "Number of data loader threads that prepare batches in the background. 0: "
                        "prepare each batch in the main thread.",
                .unit = "threads",
                .range = config::between(0, 256)});
  section.reject_unread();
  return options;
}

}  // namespace weft::data
