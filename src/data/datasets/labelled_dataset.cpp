#include "data/datasets/labelled_dataset.h"

#include <bit>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"
#include "data/labels.h"
#include "data/mixture.h"
#include "data/remark.h"
#include "data/rows/labelled_part.h"
#include "data/rows/labelled_rows.h"
#include "data/text/languages.h"

namespace weft::data {
namespace {

constexpr uint64_t kLabelledMixtureSeed =
    0x6c6162656c;  // fixed: weights select the same rows in every run

class TableDataset : public LabelledDataset {
 public:
  TableDataset(const std::vector<DataItem>& items,
               const LabelledSettings& settings,
               const Tokenizer& tokenizer)
      : settings_(settings), tokenizer_hash_(tokenizer.fingerprint()) {
    if (settings.truncation == Truncation::kSplit) {
      throw Error(
          "data.overflow: split is only for running text, must be cut or drop for labelled texts");
    }
    for (const DataItem& item : items) {
      LabelledPart& part = parts_.emplace_back();
      part.name = item.path;
      part.language = language_id(item.language, settings.languages, item.path);
      part.rows = read_labelled_rows(item, settings.label_format);
      if (parts_.back().rows.is_pair != parts_.front().rows.is_pair) {
        throw Error(str_cat(
            item.path,
            ": some rows have one text and others a text pair, all data must be of one kind"));
      }
    }
    template_.emplace(tokenizer, !parts_.empty() && parts_.front().rows.is_pair);
    read_labels(items);
    prepare_parts(items, tokenizer);
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const LabelledPart& part = parts_[entry.part];
    return part.first.size(entry.index) + (part.rows.is_pair ? part.second.size(entry.index) : 0) +
           template_->num_special_tokens();
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const LabelledPart& part = parts_[entry.part];
    Example result;
    result.ids.reserve(static_cast<std::size_t>(length(epoch, item)));
    result.ids.insert(result.ids.end(), template_->before().begin(), template_->before().end());
    part.first.read(entry.index, result.ids);
    int64_t second = 0;
    if (part.rows.is_pair) {
      second = part.second.size(entry.index);
      result.ids.insert(result.ids.end(), template_->between().begin(), template_->between().end());
      part.second.read(entry.index, result.ids);
    }
    result.ids.insert(result.ids.end(), template_->after().begin(), template_->after().end());
    if (part.language) {
      set_language(result, *part.language);
    } else if (settings_.has_token_type_ids) {
      result.token_type_ids = template_->token_type_ids(part.first.size(entry.index), second);
    }
    if (settings_.sentences) {
      result.sentence_lengths = sentence_lengths(result.ids, *template_);
    }
    add_target(part, entry.index, result);
    return result;
  }

  std::string location(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    return parts_[entry.part].rows.location(row_of(entry));
  }

  std::vector<std::string> texts(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const LabelledRows& rows = parts_[entry.part].rows;
    std::vector<std::string> found = {std::string(rows.first.at(row_of(entry)))};
    if (rows.is_pair) {
      found.emplace_back(rows.second.at(row_of(entry)));
    }
    return found;
  }

  std::vector<int64_t> class_counts() const override {
    std::vector<int64_t> counts(labels_->names().size(), 0);
    for (const LabelledPart& part : parts_) {
      for (const int32_t id : part.classes.ids) {
        ++counts[static_cast<std::size_t>(id)];
      }
    }
    return counts;
  }

  int64_t rows() const override {
    int64_t rows = 0;
    for (const LabelledPart& part : parts_) {
      rows += static_cast<int64_t>(part.kept.size());
    }
    return rows;
  }

  const std::vector<std::string>& labels() const override { return labels_->names(); }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override;

 private:
  std::string shown_limit() const {
    const auto& limits = settings_.sentences;
    return limits ? str_cat(limits->sentences, " sentences of ", limits->sentence_length,
                            " tokens, ", settings_.length, " in all,")
                  : str_cat(settings_.length, " tokens");
  }
  int64_t row_of(const Mixture::Entry& entry) const {
    return parts_[entry.part].kept[static_cast<std::size_t>(entry.index)];
  }

  void add_target(const LabelledPart& part, int64_t index, Example& example) const;
  void read_labels(const std::vector<DataItem>& items);
  std::vector<std::string> labels_of_rows() const;
  void read_value_names(const std::vector<DataItem>& items);
  void prepare_parts(const std::vector<DataItem>& items, const Tokenizer& tokenizer);
  uint64_t hash() const;

  LabelledSettings settings_;
  uint64_t tokenizer_hash_;
  uint64_t fingerprint_ = 0;
  std::vector<LabelledPart> parts_;
  std::optional<SequenceTemplate> template_;
  std::optional<Labels> labels_;
  int64_t width_ = 0;  // values per row of a regression
  std::optional<Mixture> mixture_;
};

void TableDataset::add_target(const LabelledPart& part, int64_t index, Example& example) const {
  const auto at = static_cast<std::size_t>(index);
  if (settings_.label_format.is_regression) {
    const auto begin = part.values.begin() + index * width_;
    example.values.assign(begin, begin + width_);
    return;
  }
  const auto begin = static_cast<std::size_t>(part.classes.offsets[at]);
  if (!settings_.label_format.is_multi_label) {
    example.label = part.classes.ids[begin];
    return;
  }
  example.values.assign(labels_->names().size(), 0);
  for (auto i = begin; i < static_cast<std::size_t>(part.classes.offsets[at + 1]); ++i) {
    example.values[static_cast<std::size_t>(part.classes.ids[i])] = 1;
  }
}

/// The first row with numbers determines how many there are.
void TableDataset::read_value_names(const std::vector<DataItem>& items) {
  for (const LabelledPart& part : parts_) {
    for (int64_t row = 0; row < part.rows.size() && width_ == 0; ++row) {
      width_ = static_cast<int64_t>(part.rows.labels_of(row).size());
    }
  }
  std::vector<std::string> names = settings_.labels;
  if (static_cast<int64_t>(names.size()) != width_) {
    names = items.front().labels;
  }
  for (auto i = static_cast<int64_t>(names.size()); i < width_; ++i) {
    names.push_back(str_cat("LABEL_", i));
  }
  labels_.emplace(width_ > 1 ? std::move(names) : std::vector<std::string>());
}

void TableDataset::read_labels(const std::vector<DataItem>& items) {
  if (settings_.label_format.is_regression) {
    return read_value_names(items);
  }
  const auto& columns = items.front().labels;
  labels_.emplace(choose_labels(settings_.labels, columns.empty() ? labels_of_rows() : columns,
                                settings_.may_replace_labels));
}

std::vector<std::string> TableDataset::labels_of_rows() const {
  std::set<std::string, std::less<>> names;
  for (const LabelledPart& part : parts_) {
    for (int64_t label = 0; label < part.rows.labels.size(); ++label) {
      const std::string_view name = part.rows.labels.at(label);
      if (!names.contains(name)) {
        names.emplace(name);
      }
    }
  }
  return sorted_labels({names.begin(), names.end()});
}

void TableDataset::prepare_parts(const std::vector<DataItem>& items, const Tokenizer& tokenizer) {
  const int64_t max_tokens = settings_.length - template_->num_special_tokens();
  if (max_tokens < 1) {
    throw Error(str_cat("data.length: ", settings_.length,
                        " tokens, must be larger than the number of special tokens (",
                        template_->num_special_tokens(), ")"));
  }
  std::vector<MixturePart> mixture_parts;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    tokenize_and_truncate(parts_[i], items[i], settings_, max_tokens, width_, *labels_, tokenizer);
    mixture_parts.push_back({static_cast<int64_t>(parts_[i].kept.size()), items[i].weight});
  }
  mixture_.emplace(mixture_parts, kLabelledMixtureSeed);
  if (mixture_->size() == 0) {
    throw Error(str_cat(parts_.empty() ? "data" : parts_.front().name,
                        ": no rows left with at most ", settings_.length, " tokens"));
  }
  fingerprint_ = hash();
  for (const DataItem& item : items) {
    fingerprint_ = hash_combine(fingerprint_, std::bit_cast<uint64_t>(item.weight));
  }
}

uint64_t TableDataset::hash() const {
  uint64_t value = hash_combine(tokenizer_hash_, static_cast<uint64_t>(settings_.length));
  value = hash_combine(value, settings_.has_token_type_ids ? 1 : 0);
  for (const std::string& name : labels_->names()) {
    value = digest(name, value);
  }
  for (const LabelledPart& part : parts_) {
    value = part.language ? hash_combine(value, static_cast<uint64_t>(*part.language)) : value;
    for (const RaggedIds* list : {&part.first, &part.second}) {
      value = digest(list->ids.data(), list->ids.size() * sizeof(int32_t), value);
      value = digest(list->offsets.data(), list->offsets.size() * sizeof(int64_t), value);
    }
    value = digest(part.classes.ids.data(), part.classes.ids.size() * sizeof(int32_t), value);
    if (settings_.label_format.is_multi_label) {
      value =
          digest(part.classes.offsets.data(), part.classes.offsets.size() * sizeof(int64_t), value);
    }
    value = digest(part.values.data(), part.values.size() * sizeof(double), value);
  }
  return value;
}

std::vector<std::string> TableDataset::remarks() const {
  std::vector<std::string> remarks;
  for (const LabelledPart& part : parts_) {
    remarks.insert(remarks.end(), part.rows.remarks.begin(), part.rows.remarks.end());
    const std::string longer = str_cat("longer than ", shown_limit());
    add_remark(remarks, part.name,
               {.count = part.rows.blank_lines, .noun = "blank line", .done = "ignored"});
    add_remark(remarks, part.name, repaired_remark(part.rows.repaired, "row"));
    add_remark(remarks, part.name,
               {.count = part.empty, .noun = "row", .which = "with an empty text", .done = "kept"});
    add_remark(
        remarks, part.name,
        {.count = part.without_class, .noun = "row", .which = "without a class", .done = "kept"});
    add_remark(
        remarks, part.name,
        {.count = part.unlabelled, .noun = "row", .which = "without a label", .done = "dropped"});
    add_remarks(
        remarks, part.name,
        {.noun = "text", .which = longer, .truncated = part.truncated, .dropped = part.dropped});
  }
  return remarks;
}

}  // namespace

std::shared_ptr<const LabelledDataset> make_labelled_dataset(
    const std::vector<DataItem>& items,
    const LabelledSettings& settings,
    std::shared_ptr<const Tokenizer> tokenizer) {
  return std::make_shared<TableDataset>(items, settings, *tokenizer);
}

}  // namespace weft::data
