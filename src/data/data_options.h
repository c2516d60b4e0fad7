#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"
#include "data/images/image_options.h"

namespace weft::data {

/// One entry of `data.train` or `data.evaluate`.
struct DataItem {
  std::string path;                // as written: a glob
  std::vector<std::string> files;  // what it matched, sorted
  double weight = 1.0;             // how often an epoch sees each item; 0.5: a new half each epoch
  // Column names; nothing: found by the usual names.
  std::optional<std::string> text = std::nullopt;
  std::optional<std::string> text_pair = std::nullopt;
  std::optional<std::string> label = std::nullopt;
  std::string language = {};             // of its texts; languages are mixed by their sizes
  std::vector<std::string> labels = {};  // a column for each class or number
  ImageItem image = {};                  // where the models are of images
  // Of pairs of texts: columns; or, where `target_files` is not empty, patterns of line-aligned
  // files, of which `files` are the sources.
  std::optional<std::string> source = std::nullopt;
  std::optional<std::string> target = std::nullopt;
  std::vector<std::string> target_files = {};
  std::string target_language = {};  // `language` is that of the source
};

/// Texts longer than the length: their end is cut, they go on in further sequences, they are left
/// out.
enum class Overflow { kCut, kSplit, kDrop };
/// What makes one sequence of running text: a sentence; sentences of one document up to the length
/// (RoBERTa's DOC-SENTENCES, arXiv:1907.11692); sentences up to the length across documents
/// (FULL-SENTENCES).
enum class Pack { kNone, kDocument, kStream };
/// What ends a document of plain text, beside the end of its file.
enum class DocumentBorder { kEmptyLine, kLine, kFile };
/// What ends a sentence of plain text. None: documents are taken whole, as they stand, with their
/// line feeds.
enum class SentenceBorder { kLine, kPunctuation, kNone };

/// Rows whose label is empty: a mistake, or left out and counted.
enum class Unlabelled { kRefuse, kDrop };

/// How texts of several languages share an epoch.
struct LanguageMixture {
  // Each language is seen in proportion to its tokens to this power (arXiv:1901.07291, section
  // 3.1); nothing: all as they stand.
  std::optional<double> alpha = std::nullopt;
};

/// The `data:` section.
struct DataOptions {
  std::vector<DataItem> train;
  std::vector<DataItem> evaluate;
  bool shuffle = true;
  std::optional<Overflow> overflow;  // nothing: split for running text, cut for labelled texts
  Pack pack = Pack::kDocument;
  std::optional<int64_t> length;  // longest sequence, special tokens counted; nothing: the model's
  DocumentBorder document = DocumentBorder::kEmptyLine;
  SentenceBorder sentence = SentenceBorder::kLine;
  std::optional<std::string> label_separator;  // between several labels in one field of a table
  Unlabelled unlabelled = Unlabelled::kRefuse;
  std::optional<int64_t> folds;  // parts of the training rows (k-fold); nothing: all are trained on
  int64_t fold = 1;              // the part that is held out and measured on, from 1
  std::optional<std::string> cache;  // of token stores; nothing: $WEFT_CACHE, else the user's
  int64_t workers = 1;               // threads that make batches ahead of the step
  LanguageMixture languages = {};
  ImageOptions images = {};     // how images come to the model
  AugmentOptions augment = {};  // what training changes of them
};

/// Throws config::Error: no file matches, a column is missing, a weight is not positive.
DataOptions read_data_options(config::Section& section);

}  // namespace weft::data
