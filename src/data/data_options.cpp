#include "data/data_options.h"

#include <algorithm>

#include "base/file.h"
#include "base/string_util.h"
#include "data/images/image_config.h"
#include "data/rows/tagged_rows.h"
#include "formats/line_reader.h"
#include "formats/quoted_text.h"
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
                 "missing, must be given: an item names a `path`, or by `source` and `target` two "
                 "files that are aligned line by line");
  }
  item.files = expand_paths(section, "source", *item.source);
  item.target_files = expand_paths(section, "target", *item.target);
  if (item.files.size() != item.target_files.size()) {
    section.fail("target", str_cat("'", *item.target, "' matches ", item.target_files.size(),
                                   " files, source matches ", item.files.size(),
                                   ": there must be one of these for each of those"));
  }
  item.path = *item.source;
}

/// A column named by the user must be in the header of every CSV and TSV file. Objects of a JSON
/// lines file may differ in their keys, so those are checked when they are read.
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
      section.fail(key, str_cat("'", file,
                                "' has no columns of that name, must be a csv, tsv or jsonl "
                                "file, or the column a number"));
    }
    if (*kind == formats::TableKind::kJsonl) {
      continue;
    }
    const auto columns = formats::read_column_names(file, *kind);
    if (std::find(columns.begin(), columns.end(), *column) == columns.end()) {
      const std::string suggestion = did_you_mean(*column, columns);
      const std::string hint =
          suggestion.empty() ? ""
                             : str_cat(" (did you mean ", formats::quoted_text(suggestion), "?)");
      section.fail(key, str_cat("'", *column, "' is not a column of ", file, hint, ", which has ",
                                formats::quoted_text(columns)));
    }
  }
}

DataItem read_item(config::Section& section) {
  DataItem item;
  std::optional<std::string> path;
  section.read(
      "path", path,
      {.help = "File with the data, or a shell pattern that matches several (`corpus/*.txt`); "
               ".txt, .csv, .tsv, .jsonl, .conll, .conllu, each also .gz.",
       .only_if = "without it source and target name two files"});
  section.read(
      "weight", item.weight,
      {.help = "How often an epoch sees each item; 0.5 shows a new random half in every epoch.",
       .range = {.min = 0, .max = 1e6, .is_min_exclusive = true}});
  section.read("language", item.language,
               {.help = "Language of the texts, of pairs that of the sources; data.sampling_alpha "
                        "says how often each is seen, an xlm model tells them apart, and an mbart "
                        "model's tokenizer puts them (en_XX) behind texts."});
  section.read("target_language", item.target_language,
               {.help = "Language of the targets, likewise.",
                .only_if = "translation_lm of an xlm model, seq2seq of an mbart model"});
  section.read(
      "text", item.text,
      {.help = "Column with the text; without it `text`, `sentence1` or `sentence`. Of "
               "tagged sentences the list of words (`words`, `tokens`), or the number of "
               "the column. In JSON lines, here and below, a field of an object within the "
               "row is named by both: `translation.en`.",
       .only_if = "csv, tsv, jsonl, conll"});
  section.read("text_pair", item.text_pair,
               {.help = "Column with the second text of a pair; without it `text_pair` or "
                        "`sentence2`, where there is one.",
                .only_if = "csv, tsv, jsonl"});
  section.read(
      "label", item.label,
      {.help =
           "Column with the class or number; without it `label`. Of tagged sentences the list of "
           "tags (`labels`, `tags`, `ner_tags`), or the number of the column, else the last.",
       .only_if = "csv, tsv, jsonl, conll"});
  section.read(
      "labels", item.labels,
      {.help = "Columns with a number each: several values of a regression, or 1 and 0 for "
               "classes that are and are not there; the columns name the classes.",
       .only_if = "csv, tsv, jsonl"});
  read_image_item(section, item.image);
  if (!item.labels.empty() && item.label) {
    section.fail("labels", "together with label, only one of the two is allowed");
  }
  section.read("source", item.source,
               {.help = "Column with the source text; without it `source`. Where the item has no "
                        "`path`: a file whose lines are the sources.",
                .only_if = "pairs of texts"});
  section.read("target", item.target,
               {.help = "Column with the target text; without it `target`. Where the item has no "
                        "`path`: a file with a line for each line of source.",
                .only_if = "pairs of texts"});
  if (!section.is_documenting()) {
    resolve_files(section, path, item);
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
    items.push_back(read_item(item));
  }
  if (about.is_required && items.empty() && !section.is_documenting()) {
    section.fail(key, "an empty list, must name at least one file");
  }
  return items;
}

void read_packing(config::Section& section, DataOptions& options) {
  section.read_choice(
      "overflow", options.truncation, kTruncations,
      {.help = "What happens to a text longer than `length`: its end is cut (of labelled "
               "texts and of pairs of translations its begin, where the tokenizer has "
               "truncation_side: left), it is split into several sequences, or it is left out; "
               "auto splits running text and cuts labelled texts."});
  section.read_choice(
      "pack", options.pack, kPacks,
      {.help = "What makes one sequence of running text: lines of one document up to "
               "`length`, lines up to `length` across documents with a separator "
               "between these, or one line each. For the next token (causal): one document, "
               "which sees no other, or the stream of all cut to `length`."});
  section.read("length", options.length,
               {.help = "Longest sequence, special tokens counted; none: what the model takes.",
                .unit = "tokens",
                .range = config::between(4, 1 << 24)});
  section.read_choice("document_boundary", options.document, kDocumentBoundaries,
                      {.help = "What ends a document of plain text (a file's end always does)."});
  section.read_choice("sentence_boundary", options.sentence, kSentenceBoundaries,
                      {.help = "What ends a sentence of plain text: the line's end, or punctuation "
                               "within it too."});
}

void read_languages(config::Section& section, DataOptions& options) {
  section.read("sampling_alpha", options.languages.alpha,
               {.help = "Languages are seen in proportion to their tokens to this power, so that "
                        "those with less text come more often (arXiv:1901.07291); null or 1: as "
                        "much as there is. An epoch has as many sequences in any case.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  const auto has_language = [](const DataItem& item) { return !item.language.empty(); };
  if (options.languages.alpha && !section.is_documenting() &&
      !std::all_of(options.train.begin(), options.train.end(), has_language)) {
    section.fail("sampling_alpha", "every item of data.train must name its `language`");
  }
}

void read_label_format(config::Section& section, DataOptions& options) {
  static const config::Choices<Unlabelled> kUnlabelled = {{"error", Unlabelled::kRefuse},
                                                          {"drop", Unlabelled::kDrop}};
  section.read("label_separator", options.label_separator,
               {.help = "What stands between the labels of one row in a csv or tsv file (`a;b`); "
                        "jsonl files may have lists instead."});
  if (options.label_separator && options.label_separator->empty()) {
    section.fail("label_separator", "an empty text, must be at least one character");
  }
  section.read_choice("unlabelled", options.unlabelled, kUnlabelled,
                      {.help = "Rows with an empty label: refused as a mistake, or left out and "
                               "counted; a row of multi_label data may be without labels."});
}

void read_folds(config::Section& section, DataOptions& options) {
  section.read("folds", options.folds,
               {.help = "Parts that the labelled training rows are dealt into, each with its share "
                        "of every class: one is measured on, the others are learnt from; null: "
                        "none. `weft train --folds` sets it for each of its runs.",
                .unit = "parts",
                .range = config::between(2, 1000)});
  section.read("fold", options.fold,
               {.help = "Which part is held out, counted from 1.",
                .range = config::between(1, 1000),
                .only_if = "folds"});
  if (!options.folds && options.fold > 1) {
    section.fail("fold", "has no effect without folds");
  }
  if (options.folds && options.fold > *options.folds) {
    section.fail("fold", str_cat(options.fold, ", must be at most folds, ", *options.folds));
  }
  if (options.folds && !options.evaluate.empty()) {
    section.fail("folds", "does not go with data.evaluate: a fold is measured on its own rows");
  }
}

}  // namespace

DataOptions read_data_options(config::Section& section) {
  DataOptions options;
  options.train =
      read_items(section, "train",
                 {.help = "What the model learns from: a list of files.", .is_required = true});
  options.evaluate = read_items(
      section, "evaluate",
      {.help =
           "What the model is measured on while it trains: a list of files; left out, it is not."});
  section.read(
      "shuffle", options.shuffle,
      {.help = "Takes the items of an epoch in random order; false keeps the order of the files."});
  read_packing(section, options);
  read_languages(section, options);
  read_label_format(section, options);
  read_folds(section, options);
  auto images = section.section(
      "images", {.help = "How images come to the model.", .only_if = "models of images"});
  read_image_options(images, options.images);
  auto augment = section.section("augment", {.help = "What training changes in images, anew in "
                                                     "every epoch; measuring changes nothing.",
                                             .only_if = "models of images"});
  read_augment_options(augment, options.augment);
  section.read(
      "cache_dir", options.cache,
      {.help = "Directory for tokenised text, which later runs use again; none: $WEFT_CACHE, "
               "else the user's cache directory."});
  section.read(
      "num_workers", options.workers,
      {.help = "Threads that make batches ahead of the step; 0 makes each when it is needed.",
       .unit = "threads",
       .range = config::between(0, 256)});
  section.reject_unread();
  return options;
}

}  // namespace weft::data
