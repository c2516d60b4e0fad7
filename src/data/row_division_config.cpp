#include <algorithm>
#include <cmath>

#include "base/string_util.h"
#include "data/data_options.h"
#include "formats/table_reader.h"

namespace weft::data {
namespace {

void read_folds(config::Section& section, DataOptions& options) {
  section.read("folds", options.folds,
               {.help = "Number of cross-validation folds (stratified by class): the run trains on "
                        "all folds but one and evaluates on that one. null: no cross-validation. "
                        "Set by `weft train --folds` for each of its runs.",
                .unit = "parts",
                .range = config::between(2, 1000)});
  section.read("fold", options.fold,
               {.help = "The held-out fold, counted from 1.",
                .range = config::between(1, 1000),
                .only_if = "folds"});
  if (!options.folds && options.fold > 1) {
    section.report("fold", "has no effect without data.folds");
  }
  if (options.folds && options.fold > *options.folds) {
    section.report("fold", str_cat(options.fold, ", must be at most folds, ", *options.folds));
  }
  if (options.folds && !options.evaluate.empty()) {
    section.report("folds",
                   "cannot be combined with data.evaluate: evaluation uses the held-out fold");
  }
}

void read_size(config::Section& section,
               std::string_view key,
               std::optional<double>& size,
               std::string_view help) {
  section.read(key, size, {.help = help, .range = config::above(0)});
  if (size && *size >= 1 && *size != std::floor(*size)) {
    section.report(key, str_cat(*size, ", must be a fraction below 1 or a whole number of rows"));
  }
}

void check_group_column(const config::Section& section,
                        const std::string& group,
                        const std::vector<DataItem>& items) {
  for (const DataItem& item : items) {
    for (const std::string& file : item.files) {
      if (!formats::table_kind(file)) {
        section.report("group", str_cat("'", group, "', but ", file,
                                        " has no named columns, must be a csv, tsv or jsonl file"));
        continue;
      }
      check_column_of_table(section, "group", group, {.file = file, .options = item.table});
    }
  }
}

void check_split(const config::Section& section, const DataOptions& options) {
  const SplitOptions& split = options.split;
  if (!split.is_used() && (split.group || !split.stratify || split.seed)) {
    section.report(split.group      ? "group"
                   : split.stratify ? "seed"
                                    : "stratify",
                   "has no effect without evaluate or test");
  }
  if (split.is_used() && options.folds) {
    section.report(split.evaluate ? "evaluate" : "test",
                   "cannot be combined with data.folds (weft train --folds): each fold is held out "
                   "in turn");
  }
  if (split.evaluate && !options.evaluate.empty()) {
    section.report("evaluate", "cannot be combined with data.evaluate: omit one of them");
  }
  const auto fraction = [](const std::optional<double>& size) {
    return size && *size < 1 ? *size : 0;
  };
  const double sum = fraction(split.evaluate) + fraction(split.test);
  if (sum >= 1) {
    section.report("test", str_cat("evaluate and test are ", sum,
                                   " of the rows together, must be less than 1"));
  }
  if (split.group) {
    check_group_column(section, *split.group, options.train);
  }
}

}  // namespace

void read_row_division(config::Section& section, DataOptions& options) {
  read_folds(section, options);
  SplitOptions& split = options.split;
  auto nested = section.section(
      "split", {.help = "Holds out rows of data.train for evaluation and test. Duplicates (texts "
                        "of the same words, images of the same bytes) stay in one part. The rows "
                        "are recorded in split.json of the run directory; `weft evaluate RUN "
                        "--split test` evaluates on them.",
                .only_if = "labelled texts, tags or images"});
  read_size(nested, "evaluate", split.evaluate,
            "Rows for evaluation during training: a fraction (0.1), or a number of rows (500). "
            "null: none.");
  read_size(nested, "test", split.test,
            "Rows that are neither trained on nor evaluated on during training, given like "
            "`evaluate`. null: none.");
  nested.read("group", split.group,
              {.help = "Column of groups (a patient, a document): rows of one group stay in one "
                       "part, so that the fractions are met only as far as the groups allow.",
               .only_if = "csv, tsv or jsonl files"});
  nested.read("stratify", split.stratify,
              {.help = "Each part has the same class frequencies, if the rows have classes. false: "
                       "rows are drawn without regard to their classes."});
  nested.read("seed", split.seed,
              {.help = "Random seed of the split. null: run.seed. Set it if runs with different "
                       "seeds should have the same parts.",
               .range = config::at_least(0)});
  nested.reject_unread();
  if (!section.is_documenting()) {
    check_split(nested, options);
  }
}

}  // namespace weft::data
