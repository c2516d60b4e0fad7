#include "objectives/data/training_texts.h"

#include <algorithm>
#include <set>

#include "data/datasets/language_dataset.h"
#include "data/folds.h"
#include "data/rows/parallel_reader.h"
#include "data/rows/tagged_rows.h"

namespace weft::objectives {

data::LabelFormat label_format(const ObjectiveOptions& objective,
                               const data::DataOptions& options) {
  const bool is_regression = objective.type == ObjectiveType::kRegress;
  return {.is_regression = is_regression,
          .is_multi_label = !is_regression && objective.classes.multi_label,
          .separator = options.label_separator.value_or(""),
          .unlabelled = options.unlabelled};
}

data::Fold fold_of_run(const data::DataOptions& options, uint64_t seed) {
  if (!options.folds) {
    return {};
  }
  return {.count = *options.folds, .number = options.fold, .seed = seed};
}

bool reads_pairs(const ObjectiveOptions& objective, const data::DataOptions& options) {
  const auto names_sides = [](const data::DataItem& item) { return item.source || item.target; };
  return objective.type == ObjectiveType::kSeq2Seq ||
         objective.type == ObjectiveType::kTranslationLm ||
         (objective.type == ObjectiveType::kPrefix &&
          std::any_of(options.train.begin(), options.train.end(), names_sides));
}

data::LanguageCodes language_codes(const ObjectiveOptions& objective,
                                   const data::DataOptions& options) {
  std::vector<std::string> sources;
  std::set<std::string> targets;
  data::LanguageCodes codes;
  for (const auto* items : {&options.train, &options.evaluate}) {
    for (const data::DataItem& item : *items) {
      sources.push_back(item.language);
      targets.insert(item.target_language);
    }
  }
  codes.others = sources;
  codes.others.insert(codes.others.end(), targets.begin(), targets.end());
  sources.insert(sources.begin(), objective.seq2seq.source_language);
  const auto named = std::find_if(sources.begin(), sources.end(),
                                  [](const std::string& code) { return !code.empty(); });
  codes.source = named == sources.end() ? codes.source : *named;
  // An item without a language takes the objective's.
  if (targets.erase("") > 0 && !objective.seq2seq.target_language.empty()) {
    targets.insert(objective.seq2seq.target_language);
  }
  codes.target = targets.size() == 1 ? *targets.begin() : objective.seq2seq.target_language;
  return codes;
}

void visit_training_texts(const ObjectiveOptions& objective,
                          const data::DataOptions& options,
                          uint64_t seed,
                          const data::TextVisitor& visit) {
  if (objective.type == ObjectiveType::kTag) {
    data::visit_tagged_texts(options.train, visit);
  } else if (reads_pairs(objective, options)) {
    data::visit_parallel_texts(options.train, visit);
  } else if (options.folds) {
    data::visit_texts_excluding_fold(fold_of_run(options, seed), options.train,
                                     label_format(objective, options), visit);
  } else {
    data::visit_texts(options.train, options, visit);
  }
}

}  // namespace weft::objectives
