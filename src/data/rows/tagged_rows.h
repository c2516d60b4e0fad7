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

/// A tag as it stands in a file. Numbers of JSON files may mean the place in a list of names.
struct TagName {
  std::string name;
  bool is_number = false;
};

/// Sentences of words with a tag each, of one data item, as they stand in its files.
class TaggedRows {
 public:
  /// `file` and what follows it come from there.
  void begin_file(const std::string& file);
  void add_word(std::string_view word, std::string_view tag, bool is_number, int64_t line);
  /// The words since the last one are a sentence; nothing without words.
  void end_sentence();
  void count_empty() { ++empty_; }
  void count_blank() { ++blank_; }

  int64_t size() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t begin(int64_t sentence) const { return offsets_[static_cast<std::size_t>(sentence)]; }
  int64_t end(int64_t sentence) const { return begin(sentence + 1); }
  std::string_view word(int64_t word) const { return words_.at(word); }
  /// Which of `names` the word's tag is.
  int64_t tag(int64_t word) const { return tags_[static_cast<std::size_t>(word)]; }
  const std::vector<TagName>& names() const { return names_; }
  /// `dev.conll:12`.
  std::string place(int64_t word) const;
  /// Rows that had no words.
  int64_t empty() const { return empty_; }
  /// Blank lines of JSON files; elsewhere they end sentences.
  int64_t blank_lines() const { return blank_; }
  /// Words that were not UTF-8; they have U+FFFD for the bytes that were wrong.
  int64_t repaired() const { return repaired_; }

 private:
  struct File {
    std::string path;
    int64_t begin = 0;  // its first word
  };
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

/// Reads all files of an item: JSON lines by their name's ending, else one word a line. Throws
/// data::Error naming file and line: rows of another width, a word without a tag, no sentence.
TaggedRows read_tagged_rows(const DataItem& item);

/// Visits every sentence, words joined by spaces (for training a tokenizer).
void visit_tagged_texts(const std::vector<DataItem>& items, const TextVisitor& visit);

/// Names of the columns of a `.conllu` file; nothing for other files, which have numbers alone.
const std::vector<std::string>& tagged_columns(std::string_view file);

/// Number of a column counted from 1, or nothing where the text is no such number.
std::optional<int64_t> column_number(std::string_view text);

}  // namespace weft::data
