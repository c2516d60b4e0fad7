#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"
#include "data/images/image_options.h"
#include "formats/table_reader.h"

namespace weft::data {

/// One entry of `data.train` or `data.evaluate`.
struct DataItem {
  std::string path;                // glob pattern as written
  std::vector<std::string> files;  // matching files, sorted
  double weight = 1.0;             // passes over the items per epoch; 0.5: a new half each epoch
  // Column names; nullopt: the usual names are tried.
  std::optional<std::string> text = std::nullopt;
  std::optional<std::string> text_pair = std::nullopt;
  std::optional<std::string> label = std::nullopt;
  formats::TableOptions table = {};      // of csv and tsv files
  std::string language = {};             // of the texts; languages are mixed by their sizes
  std::vector<std::string> labels = {};  // one column per class or regression value
  std::optional<std::string> names_file = std::nullopt;  // class names of numeric labels
  ImageItem image = {};                                  // for image models
  // For pairs of texts: columns; or, if `target_files` is not empty, patterns of line-aligned
  // files, with the sources in `files`.
  std::optional<std::string> source = std::nullopt;
  std::optional<std::string> target = std::nullopt;
  std::vector<std::string> target_files = {};
  std::string target_language = {};  // `language` is the source language
  // Rows to read, ascending, counted from 0 over all files; nullopt: all.
  std::optional<std::vector<int64_t>> rows = std::nullopt;

  bool reads_row(int64_t row) const;
};

/// Handling of texts longer than the maximum length: truncated, continued in further sequences, or
/// dropped.
enum class Truncation { kTruncate, kSplit, kDrop };
/// Content of one sequence of running text: a sentence; sentences of one document up to the length
/// (RoBERTa's DOC-SENTENCES, arXiv:1907.11692); sentences up to the length across documents
/// (FULL-SENTENCES).
enum class Pack { kNone, kDocument, kStream };
/// End of a document in plain text, besides the end of the file.
enum class DocumentBoundary { kEmptyLine, kLine, kFile };
/// End of a sentence in plain text. kNone: documents are kept whole, including their line feeds.
enum class SentenceBoundary { kLine, kPunctuation, kNone };

/// Rows with an empty label: an error, or dropped and counted.
enum class Unlabelled { kRefuse, kDrop };

/// `data.split:`, rows of the training data that are held out.
struct SplitOptions {
  std::optional<double> evaluate =
      std::nullopt;  // below 1: a fraction of the rows, else their number
  std::optional<double> test =
      std::nullopt;  // the same, for the end: never evaluated during training
  std::optional<std::string> group =
      std::nullopt;                            // column; rows with the same value stay together
  bool stratify = true;                        // by class, if rows have classes
  std::optional<int64_t> seed = std::nullopt;  // nullopt: that of the run

  bool is_used() const { return evaluate || test; }
};

/// Sampling of several languages within an epoch.
struct LanguageMixture {
  // Each language is sampled in proportion to (its number of tokens)^alpha (arXiv:1901.07291,
  // section 3.1); nullopt: without reweighting.
  std::optional<double> alpha = std::nullopt;
};

/// The `data:` section.
struct DataOptions {
  std::vector<DataItem> train;
  std::vector<DataItem> evaluate;
  bool shuffle = true;
  std::optional<Truncation> truncation;  // nullopt: split running text, truncate labelled texts
  Pack pack = Pack::kDocument;
  std::optional<int64_t> streams;  // that continue from step to step; nullopt: none does
  std::optional<int64_t> length;  // longest sequence, special tokens included; nullopt: the model's
  DocumentBoundary document = DocumentBoundary::kEmptyLine;
  SentenceBoundary sentence = SentenceBoundary::kLine;
  std::optional<std::string> label_separator;  // between several labels in one field of a table
  Unlabelled unlabelled = Unlabelled::kRefuse;
  std::optional<int64_t> folds;  // k-fold splits of the training rows; nullopt: train on all rows
  int64_t fold = 1;              // held-out fold, used for evaluation; counted from 1
  SplitOptions split = {};
  std::optional<std::string> cache;  // of token stores; nullopt: $WEFT_CACHE, else the user's
  int64_t workers = 1;               // threads that prefetch batches
  LanguageMixture languages = {};
  ImageOptions images = {};     // image preprocessing
  AugmentOptions augment = {};  // training-time augmentation

  /// Whether the data have a part to evaluate on: files, a held-out fold or a split.
  bool has_evaluation() const { return !evaluate.empty() || folds || split.evaluate; }
};

/// Throws config::Error: no file matches, a column is missing, a weight is not positive.
DataOptions read_data_options(config::Section& section);

/// `folds`, `fold` and `split`; the items are known. Throws config::Error.
void read_row_division(config::Section& section, DataOptions& options);

/// Table of a data item.
struct TableFile {
  std::string file;
  const formats::TableOptions& options;
};

/// Reports a column that the table does not have. Objects of a JSON lines file may differ in their
/// keys, so their columns are checked when they are read.
void check_column_of_table(const config::Section& section,
                           std::string_view key,
                           const std::string& column,
                           const TableFile& table);

// The keys of `data:` that only images use (image_config.cpp).

/// Keys of an item of data.train or data.evaluate.
void read_image_item(config::Section& section, ImageItem& item);
/// `data.images:` and `data.augment:`. Throws config::Error.
void read_image_options(config::Section& section, ImageOptions& options);
void read_augment_options(config::Section& section, AugmentOptions& options);

/// Values of `data.images.resample`.
const config::Choices<Resample>& resample_choices();

}  // namespace weft::data
