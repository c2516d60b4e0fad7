#include "data/folds.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/random.h"
#include "base/stop.h"
#include "base/text.h"
#include "data/error.h"
#include "data/text/text_source.h"

namespace weft::data {

namespace {

/// The texts at `rows`, in their order.
IdList chosen(const IdList& list, const std::vector<int64_t>& rows) {
  IdList result;
  for (const auto row : rows) {
    const auto begin = list.offsets[static_cast<std::size_t>(row)];
    result.add(list.ids.data() + begin, list.size(row));
  }
  return result;
}

/// A number for the class that each row counts as of; -1 for rows that are left out.
std::vector<int64_t> classes_of(const LabelledRows& rows, const LabelForm& form) {
  std::map<std::string_view, int64_t> numbers;
  std::vector<int64_t> classes;
  for (int64_t row = 0; row < rows.size(); ++row) {
    const auto labels = rows.labels_of(row);
    if (labels.empty() && !form.is_multi_label) {
      classes.push_back(-1);
      continue;
    }
    const auto first = form.is_regression || labels.empty()
                           ? std::string_view()
                           : *std::min_element(labels.begin(), labels.end());
    classes.push_back(numbers.emplace(first, static_cast<int64_t>(numbers.size())).first->second);
  }
  return classes;
}

}  // namespace

std::vector<int64_t> deal_folds(const std::vector<int64_t>& classes, int64_t count, uint64_t seed) {
  std::map<int64_t, std::vector<std::size_t>> rows;
  for (std::size_t row = 0; row < classes.size(); ++row) {
    rows[classes[row]].push_back(row);
  }
  std::vector<int64_t> folds(classes.size());
  int64_t next = 0;  // goes on from class to class, so that the last rows of each are spread too
  uint64_t number = 0;
  for (const auto& [name, members] : rows) {
    const Permutation order(static_cast<int64_t>(members.size()), seed, Purpose::kFolds, number++);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto row = members[static_cast<std::size_t>(order(static_cast<int64_t>(i)))];
      folds[row] = next++ % count;
    }
  }
  return folds;
}

std::vector<int64_t> folds_of_rows(const LabelledRows& rows,
                                   const LabelForm& form,
                                   const Fold& fold) {
  std::vector<int64_t> numbered;
  std::vector<int64_t> classes;
  const auto all = classes_of(rows, form);
  for (std::size_t row = 0; row < all.size(); ++row) {
    if (all[row] >= 0) {
      numbered.push_back(static_cast<int64_t>(row));
      classes.push_back(all[row]);
    }
  }
  if (static_cast<int64_t>(numbered.size()) < fold.count) {
    throw Error(text(rows.files.front().path, ": ", numbered.size(), " rows, too few for ",
                     fold.count, " folds"));
  }
  const auto dealt = deal_folds(classes, fold.count, fold.seed);
  std::vector<int64_t> folds(all.size(), -1);
  for (std::size_t i = 0; i < numbered.size(); ++i) {
    folds[static_cast<std::size_t>(numbered[i])] = dealt[i];
  }
  return folds;
}

void visit_texts_outside(const Fold& fold,
                         const std::vector<DataItem>& items,
                         const LabelForm& form,
                         const TextVisitor& visit) {
  for (const DataItem& item : items) {
    const LabelledRows rows = read_labelled_rows(item, form);
    const auto folds = folds_of_rows(rows, form, fold);
    for (int64_t row = 0; row < rows.size(); ++row) {
      leave_if_stopped("reading the texts");
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

void keep_fold(LabelledPart& part, const LabelForm& form, const Fold& fold, int64_t width) {
  if (fold.count == 0) {
    return;
  }
  const auto folds = folds_of_rows(part.rows, form, fold);
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
  part.first = chosen(part.first, rows);
  if (part.rows.is_pair) {
    part.second = chosen(part.second, rows);
  }
  if (part.classes.offsets.size() > 1) {
    part.classes = chosen(part.classes, rows);
  }
  part.kept = std::move(kept);
  part.values = std::move(values);
}

}  // namespace weft::data
