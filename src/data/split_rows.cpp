#include "data/split_rows.h"

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "data/error.h"
#include "data/images/image_source.h"
#include "data/rows/labelled_rows.h"
#include "data/text/text_shingles.h"
#include "formats/table_reader.h"

namespace weft::data {

SplitRows labelled_split_rows(const DataItem& item, const LabelFormat& label_format) {
  const LabelledRows texts = read_labelled_rows(item, label_format);
  SplitRows result;
  for (std::size_t file = 0; file < item.files.size(); ++file) {
    result.files.push_back({item.files[file], texts.begins[file]});
  }
  for (int64_t row = 0; row < texts.size(); ++row) {
    SplitRow& added = result.rows.emplace_back();
    const auto labels = texts.labels_of(row);
    if (!labels.empty() && !label_format.is_regression) {
      added.label = *std::min_element(labels.begin(), labels.end());
    }
    added.is_dropped = texts.lacks_label(row);
    added.content = digest_of_words(texts.first.at(row));
    if (texts.is_pair) {
      added.content = digest_of_words(texts.second.at(row), added.content);
    }
  }
  return result;
}

SplitRows tagged_split_rows(const DataItem& item, TaggedUnit unit) {
  const TaggedRows sentences = read_tagged_rows(item, unit);
  SplitRows result;
  for (const auto& file : sentences.files()) {
    result.files.push_back({file.path, file.first_sentence});
  }
  for (int64_t sentence = 0; sentence < sentences.size(); ++sentence) {
    result.rows.push_back({.content = digest(sentences.text(sentence))});
  }
  return result;
}

SplitRows image_split_rows(const DataItem& item, bool needs_labels) {
  constexpr int64_t kImagesAtOnce = 64;
  const auto images = open_images(item, needs_labels);
  SplitRows result;
  for (std::size_t file = 0; file < item.files.size(); ++file) {
    result.files.push_back({item.files[file], images->begins()[file]});
  }
  result.rows.resize(static_cast<std::size_t>(images->size()));
  parallel_for(images->size(), kImagesAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      result.rows[at].content = images->image_digest(i);
      if (needs_labels) {
        result.rows[at].label = images->labels()[at];
      }
    }
  });
  return result;
}

void read_groups(const DataItem& item, const std::string& column, SplitRows& rows) {
  std::size_t row = 0;
  for (const std::string& file : item.files) {
    const auto kind = formats::table_kind(file);
    if (!kind) {
      throw Error(str_cat(file,
                          ": no named columns, data.split.group needs a csv, tsv or jsonl "
                          "file"));
    }
    formats::TableReader reader(file, *kind, {column}, item.table);
    for (std::vector<std::optional<std::string>> fields; reader.next(fields); ++row) {
      if (!fields[0] || trim(*fields[0]).empty()) {
        throw Error(str_cat(reader.location(), ": no ", quoted_text(column),
                            ", every row must have a group (data.split.group)"));
      }
      if (row < rows.rows.size()) {
        rows.rows[row].group = digest(trim(*fields[0]));
      }
    }
  }
  if (row != rows.rows.size()) {
    throw Error(str_cat(item.path, ": ", row, " rows, of which ", rows.rows.size(),
                        " are examples: rows without words cannot be combined with "
                        "data.split.group"));
  }
}

}  // namespace weft::data
