#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "formats/binary_records.h"
#include "formats/error.h"

namespace weft::metrics {

/// Adds numbers; records field by field, and lists element by element, where the longer one counts.
template <class T>
void add_to(T& sum, const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    sum += value;
  } else if constexpr (formats::FieldRecord<T>) {
    std::apply([&](const auto... fields) { (add_to(sum.*fields, value.*fields), ...); },
               T::kFields);
  } else {
    if constexpr (requires { sum.resize(value.size()); }) {
      sum.resize(std::max(sum.size(), value.size()));
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      add_to(sum[i], value[i]);
    }
  }
}

/// What each item of a data set contributes to the metrics: a FieldRecord that has besides its
/// fields an `int64_t item`. Results computed from it depend neither on batches nor on which
/// process saw which items, since everything is in item order.
template <formats::FieldRecord Record>
class ItemRecords {
 public:
  /// `kind`: what is recorded; only records of equal kinds are merged.
  explicit ItemRecords(std::string kind) : kind_(std::move(kind)) {}

  void add(Record record) { records_.push_back(std::move(record)); }
  std::size_t size() const { return records_.size(); }

  /// Names that the records refer to by index; empty if there are none or nothing was added.
  const std::vector<std::string>& labels() const { return labels_; }
  void set_labels(std::vector<std::string> labels) { labels_ = std::move(labels); }

  std::vector<Record> in_item_order() const {
    auto records = records_;
    std::stable_sort(records.begin(), records.end(), precedes);
    return records;
  }

  /// The records at these indices in item order, with repetition, as items 0, 1, ...
  ItemRecords pick(const std::vector<std::size_t>& indices) const {
    const auto records = in_item_order();
    ItemRecords picked(kind_);
    picked.labels_ = labels_;
    for (const std::size_t index : indices) {
      picked.records_.push_back(records.at(index));
      picked.records_.back().item = static_cast<int64_t>(picked.size()) - 1;
    }
    return picked;
  }

  /// Sum of each field, added up in item order. Its `item` has no meaning.
  Record sum() const {
    Record sum;
    for (const Record& record : in_item_order()) {
      add_to(sum, record);
    }
    return sum;
  }

  /// Everything, exactly, for `merge` in another process.
  std::string serialize() const {
    formats::BinaryWriter writer(kind_);
    writer.write(labels_);
    writer.write(uint64_t{records_.size()});
    for (const Record& record : records_) {
      writer.write(record.item);
      writer.write(record);
    }
    return writer.finish();
  }

  /// Adds serialized records. Throws formats::Error for damaged bytes, those of another kind or of
  /// other labels, and for an item that is already there; then nothing changes.
  void merge(std::string_view serialized) {
    formats::BinaryReader reader(serialized, kind_);
    auto labels = reader.read<std::vector<std::string>>();
    if (!labels.empty() && !labels_.empty() && labels != labels_) {
      throw formats::Error(str_cat("serialized records: found the labels ", join(labels),
                                   ", expected ", join(labels_)));
    }
    auto records = records_;
    for (auto count = reader.read<uint64_t>(); count > 0; --count) {
      const auto item = reader.read<int64_t>();
      records.push_back(reader.read<Record>());
      records.back().item = item;
    }
    reader.finish();
    std::stable_sort(records.begin(), records.end(), precedes);
    const auto twice =
        std::adjacent_find(records.begin(), records.end(),
                           [](const Record& a, const Record& b) { return a.item == b.item; });
    if (twice != records.end()) {
      throw formats::Error(str_cat("serialized records: item ", twice->item,
                                   " was evaluated twice, expected each item in one part only"));
    }
    records_ = std::move(records);
    if (!labels.empty()) {
      labels_ = std::move(labels);
    }
  }

 private:
  static bool precedes(const Record& a, const Record& b) { return a.item < b.item; }

  std::string kind_;
  std::vector<std::string> labels_;
  std::vector<Record> records_;
};

/// References per line for a signature: `1`, or `var` if lines differ; `0` without lines.
template <class Record>
std::string number_of_references(const std::vector<Record>& records) {
  const bool varies = std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return record.references != records.front().references;
  });
  return varies ? "var" : std::to_string(records.empty() ? 0 : records.front().references);
}

}  // namespace weft::metrics
