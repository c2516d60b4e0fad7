#include "data/folds.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/random.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "data/error.h"
#include "data/text/text_source.h"

namespace weft::data {

namespace {

/// Selects the texts at `rows`, in their order.
RaggedIds select_rows(const RaggedIds& list, const std::vector<int64_t>& rows) {
  RaggedIds result;
  for (const auto row : rows) {
    const auto begin = list.offsets[static_cast<std::size_t>(row)];
    result.add(list.ids.data() + begin, list.size(row));
  }
  return result;
}

/// Returns a class number for each row, for stratification; -1 for dropped rows.
std::vector<int64_t> row_classes(const LabelledRows& rows, const LabelFormat& label_format) {
  std::map<std::string_view, int64_t> numbers;
  std::vector<int64_t> classes;
  for (int64_t row = 0; row < rows.size(); ++row) {
    const auto labels = rows.labels_of(row);
    if (labels.empty() && !label_format.is_multi_label) {
      classes.push_back(-1);
      continue;
    }
    const auto first = label_format.is_regression || labels.empty()
                           ? std::string_view()
                           : *std::min_element(labels.begin(), labels.end());
    classes.push_back(numbers.emplace(first, static_cast<int64_t>(numbers.size())).first->second);
  }
  return classes;
}

}  // namespace

std::vector<int64_t> assign_folds(const std::vector<int64_t>& classes,
                                  int64_t count,
                                  uint64_t seed) {
  std::map<int64_t, std::vector<std::size_t>> rows;
  for (std::size_t row = 0; row < classes.size(); ++row) {
    rows[classes[row]].push_back(row);
  }
  std::vector<int64_t> folds(classes.size());
  int64_t next = 0;  // continues from class to class, so that the last rows of each are spread too
  uint64_t number = 0;
  for (const auto& [name, members] : rows) {
    const Permutation order(static_cast<int64_t>(members.size()), seed, RandomPurpose::kFolds,
                            number++);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto row = members[static_cast<std::size_t>(order(static_cast<int64_t>(i)))];
      folds[row] = next++ % count;
    }
  }
  return folds;
}

std::vector<int64_t> assign_row_folds(const LabelledRows& rows,
                                      const LabelFormat& label_format,
                                      const Fold& fold) {
  std::vector<int64_t> labelled_rows;
  std::vector<int64_t> classes;
  const auto all = row_classes(rows, label_format);
  for (std::size_t row = 0; row < all.size(); ++row) {
    if (all[row] >= 0) {
      labelled_rows.push_back(static_cast<int64_t>(row));
      classes.push_back(all[row]);
    }
  }
  if (static_cast<int64_t>(labelled_rows.size()) < fold.count) {
    throw Error(str_cat(rows.files.front().path, ": ", labelled_rows.size(),
                        " rows, not enough for ", fold.count, " folds"));
  }
  const auto assigned = assign_folds(classes, fold.count, fold.seed);
  std::vector<int64_t> folds(all.size(), -1);
  for (std::size_t i = 0; i < labelled_rows.size(); ++i) {
    folds[static_cast<std::size_t>(labelled_rows[i])] = assigned[i];
  }
  return folds;
}

void visit_texts_excluding_fold(const Fold& fold,
                                const std::vector<DataItem>& items,
                                const LabelFormat& label_format,
                                const TextVisitor& visit) {
  for (const DataItem& item : items) {
    const LabelledRows rows = read_labelled_rows(item, label_format);
    const auto folds = assign_row_folds(rows, label_format, fold);
    for (int64_t row = 0; row < rows.size(); ++row) {
      throw_if_stopped("reading the texts");
      if (folds[static_cast<std::size_t>(row)] == fold.number - 1) {
        continue;
      }
      visit_text(rows.first.at(row), visit);
      if (rows.is_pair) {
        visit_text(rows.second.at(row), visit);
      }
    }
  }
}

void filter_fold(LabelledPart& part,
                 const LabelFormat& label_format,
                 const Fold& fold,
                 int64_t width) {
  if (fold.count == 0) {
    return;
  }
  const auto folds = assign_row_folds(part.rows, label_format, fold);
  std::vector<int64_t> rows;
  for (std::size_t i = 0; i < part.kept.size(); ++i) {
    const auto of_row = folds[static_cast<std::size_t>(part.kept[i])];
    if ((of_row == fold.number - 1) == fold.is_held_out) {
      rows.push_back(static_cast<int64_t>(i));
    }
  }
  std::vector<int64_t> kept;
  std::vector<double> values;
  for (const auto row : rows) {
    kept.push_back(part.kept[static_cast<std::size_t>(row)]);
    const auto begin = part.values.begin() + row * width;
    values.insert(values.end(), begin, begin + (part.values.empty() ? 0 : width));
  }
  part.first = select_rows(part.first, rows);
  if (part.rows.is_pair) {
    part.second = select_rows(part.second, rows);
  }
  if (part.classes.offsets.size() > 1) {
    part.classes = select_rows(part.classes, rows);
  }
  part.kept = std::move(kept);
  part.values = std::move(values);
}

}  // namespace weft::data
