#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/data_options.h"
#include "data/rows/labelled_rows.h"
#include "data/tokenizer_options.h"

namespace weft::data {

/// A tag as written in a file. A number in a JSON or Parquet file may be an index into a list of
/// names.
struct TagName {
  std::string name;
  bool is_number = false;
};

/// What has a tag: the words of a sentence, or the sentences of a document.
enum class TaggedUnit { kWord, kSentence };

/// Sentences of tagged words of one data item, as read from its files; or documents of tagged
/// sentences, which then are the words here.
class TaggedRows {
 public:
  /// Marks the words that follow as coming from `file`.
  void begin_file(const std::string& file);
  void add_word(std::string_view word, std::string_view tag, bool is_number, int64_t line);
  /// Ends the sentence of the words added since the last call; no-op without words.
  void end_sentence();
  void count_empty() { ++empty_; }
  void count_blank() { ++blank_; }

  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t begin(int64_t sentence) const { return offsets_[static_cast<std::size_t>(sentence)]; }
  int64_t end(int64_t sentence) const { return begin(sentence + 1); }
  std::string_view word(int64_t word) const { return words_.at(word); }
  /// Index of the word's tag in `names`.
  int64_t tag(int64_t word) const { return tags_[static_cast<std::size_t>(word)]; }
  const std::vector<TagName>& names() const { return names_; }
  struct File {
    std::string path;
    int64_t begin = 0;  // its first word
    int64_t first_sentence = 0;
  };
  const std::vector<File>& files() const { return files_; }
  /// Words of the sentence, joined by spaces.
  std::string text(int64_t sentence) const;
  /// Location such as `dev.conll:12`.
  std::string location(int64_t word) const;
  /// Number of rows without words.
  int64_t empty() const { return empty_; }
  /// Number of blank lines in JSON files; elsewhere they end sentences.
  int64_t blank_lines() const { return blank_; }
  /// Number of words that were not UTF-8; their invalid bytes were replaced by U+FFFD.
  int64_t repaired() const { return repaired_; }

 private:
  std::vector<File> files_;
  TextList words_;
  std::vector<int64_t> offsets_{0};
  std::vector<int32_t> tags_;
  std::vector<int64_t> lines_;
  std::vector<TagName> names_;
  std::map<std::pair<std::string, bool>, int32_t> numbers_;
  int64_t empty_ = 0;
  int64_t blank_ = 0;
  int64_t repaired_ = 0;
};

/// Reads all files of an item: JSON lines and Parquet by file extension, else one word per line,
/// which documents of sentences cannot be. Throws data::Error naming file and line: inconsistent
/// column counts, a word without a tag, no sentence.
TaggedRows read_tagged_rows(const DataItem& item, TaggedUnit unit = TaggedUnit::kWord);

/// What has a tag in the first row of a JSON lines or Parquet file: sentences, if it has a list of
/// those (`sentences`) and none of words. Words in other files.
TaggedUnit find_tagged_unit(const std::string& file);

/// Visits every sentence that the items read (for training a tokenizer); words are joined by
/// spaces.
void visit_tagged_texts(const std::vector<DataItem>& items,
                        const TextVisitor& visit,
                        TaggedUnit unit = TaggedUnit::kWord);

/// Column names of a `.conllu` file; empty for other files, whose columns only have numbers.
const std::vector<std::string>& tagged_columns(std::string_view file);

/// Parses a column number counted from 1; nullopt if the text is not one.
std::optional<int64_t> column_number(std::string_view text);

/// Reads one word with its tag per line (CoNLL): columns separated by tabs, or by white space if a
/// line has no tab; an empty line ends a sentence; lines that begin with -DOCSTART- are skipped.
/// The word is in the first column and the tag in the last, unless the item names others by number.
/// `.conllu` files have comments, named columns (FORM and UPOS are read), and lines for multiword
/// tokens and empty nodes, which are skipped.
void read_tagged_lines(const DataItem& item, const std::string& file, TaggedRows& rows);

/// Reads one JSON object per line: a list of words (`words`, `tokens`) or of sentences
/// (`sentences`), and one of tags (`labels`, `tags`, `ner_tags`; names or numbers), unless the item
/// names the keys.
void read_tagged_json(const DataItem& item,
                      const std::string& file,
                      TaggedRows& rows,
                      TaggedUnit unit = TaggedUnit::kWord);

/// Reads one sentence or document per row, with the lists in the columns that read_tagged_json
/// expects as keys. Tags that are numbers may be indices, as there.
void read_tagged_parquet(const DataItem& item,
                         const std::string& file,
                         TaggedRows& rows,
                         TaggedUnit unit = TaggedUnit::kWord);

}  // namespace weft::data
