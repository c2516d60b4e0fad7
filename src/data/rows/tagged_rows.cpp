#include "data/rows/tagged_rows.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/stop.h"
#include "base/string_util.h"
#include "base/utf8.h"
#include "data/error.h"
#include "data/text/text_source.h"
#include "formats/byte_source.h"
#include "formats/table_reader.h"

namespace weft::data {
namespace {

constexpr int64_t kMaxColumns = 1000;

bool has_ending(std::string_view file, std::string_view ending) {
  return formats::without_compression(file).ends_with(ending);
}

}  // namespace

void TaggedRows::begin_file(const std::string& file) {
  files_.push_back({file, words_.size(), size()});
}

void TaggedRows::add_word(std::string_view word,
                          std::string_view tag,
                          bool is_number,
                          int64_t line) {
  const auto next = static_cast<int32_t>(names_.size());
  const auto [found, is_new] = numbers_.emplace(std::pair{std::string(tag), is_number}, next);
  if (is_new) {
    names_.push_back({std::string(tag), is_number});
  }
  if (utf8::first_invalid(word)) {
    words_.add(utf8::replace_invalid(word));
    ++repaired_;
  } else {
    words_.add(word);
  }
  tags_.push_back(found->second);
  lines_.push_back(line);
}

void TaggedRows::end_sentence() {
  if (words_.size() > offsets_.back()) {
    offsets_.push_back(words_.size());
  }
}

std::string TaggedRows::text(int64_t sentence) const {
  std::string joined;
  for (int64_t word = begin(sentence); word < end(sentence); ++word) {
    joined += joined.empty() ? "" : " ";
    joined += words_.at(word);
  }
  return joined;
}

std::string TaggedRows::location(int64_t word) const {
  const auto after = std::upper_bound(files_.begin(), files_.end(), word,
                                      [](int64_t w, const File& file) { return w < file.begin; });
  return str_cat((after - 1)->path, ":", lines_[static_cast<std::size_t>(word)]);
}

TaggedRows read_tagged_rows(const DataItem& item, TaggedUnit unit) {
  const bool is_of_words = unit == TaggedUnit::kWord;
  TaggedRows rows;
  for (const std::string& file : item.files) {
    throw_if_stopped("reading the sentences");
    rows.begin_file(file);
    const auto kind = formats::table_kind(file);
    if (!is_of_words && kind != formats::TableKind::kJsonl &&
        kind != formats::TableKind::kParquet) {
      throw Error(str_cat(file,
                          ": documents of sentences with tags must be in jsonl or parquet files, "
                          "with lists `sentences` and `labels`"));
    }
    if (kind == formats::TableKind::kCsv) {
      throw Error(
          str_cat(file,
                  ": a table, sentences with tags must be in jsonl or parquet files or in CoNLL "
                  "format (one word per line)"));
    }
    if (kind == formats::TableKind::kJsonl) {
      read_tagged_json(item, file, rows, unit);
    } else if (kind == formats::TableKind::kParquet) {
      read_tagged_parquet(item, file, rows, unit);
    } else {
      read_tagged_lines(item, file, rows);
    }
  }
  if (rows.size() == 0) {
    throw Error(str_cat(item.path, ": no ", is_of_words ? "sentences" : "documents",
                        ", must have at least one"));
  }
  return rows;
}

void visit_tagged_texts(const std::vector<DataItem>& items,
                        const TextVisitor& visit,
                        TaggedUnit unit) {
  for (const DataItem& item : items) {
    const TaggedRows rows = read_tagged_rows(item, unit);
    for (int64_t row = 0; row < rows.size(); ++row) {
      if (!item.reads_row(row)) {
        continue;
      }
      if (unit == TaggedUnit::kWord) {
        visit_text(rows.text(row), visit);
        continue;
      }
      for (int64_t sentence = rows.begin(row); sentence < rows.end(row); ++sentence) {
        visit_text(rows.word(sentence), visit);
      }
    }
  }
}

const std::vector<std::string>& tagged_columns(std::string_view file) {
  static const std::vector<std::string> kUniversal = {"ID",    "FORM", "LEMMA",  "UPOS", "XPOS",
                                                      "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"};
  static const std::vector<std::string> kNone;
  return has_ending(file, ".conllu") ? kUniversal : kNone;
}

std::optional<int64_t> column_number(std::string_view text) {
  int64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const bool is_valid =
      error == std::errc() && stopped == end && number >= 1 && number <= kMaxColumns;
  return is_valid ? std::optional(number) : std::nullopt;
}

}  // namespace weft::data
