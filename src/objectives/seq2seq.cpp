#include <algorithm>
#include <cmath>

#include "batching/hidden_states.h"
#include "data/datasets/parallel_dataset.h"
#include "models/config/family_definition.h"
#include "objectives/conditional_lm.h"
#include "objectives/data/training_texts.h"
#include "objectives/evaluation/token_evaluation.h"
#include "objectives/loss/class_options.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

class Seq2SeqObjective : public ConditionalLmObjective {
 public:
  explicit Seq2SeqObjective(const Seq2SeqOptions& options)
      : ConditionalLmObjective(/*target_fraction=*/0.5, options.label_smoothing),
        pairs_(options.pairs) {}

  std::string_view name() const override { return "seq2seq"; }
  bool reads_pairs(const data::DataOptions& /*data*/,
                   const models::ModelOptions& /*model*/) const override {
    return true;
  }
  data::LanguageCodes language_codes(const data::DataOptions& data) const override {
    return language_codes_of(data, pairs_.source_language, pairs_.target_language);
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    return parallel_datasets(inputs, pairs_);
  }

  PairOptions pairs_;
};

}  // namespace

std::unique_ptr<Objective> make_seq2seq(const Seq2SeqOptions& options) {
  return std::make_unique<Seq2SeqObjective>(options);
}

std::unique_ptr<Objective> read_seq2seq(config::Section& section) {
  Seq2SeqOptions options;
  read_label_smoothing(section, options.label_smoothing);
  section.read("source_prefix", options.pairs.source_prefix,
               {.help = "Text put before every source text (task prefix), as in T5: `\"translate "
                        "English to German: \"`."});
  section.read("source_language", options.pairs.source_language,
               {.help = "Language token of the sources, for tokenizers with language tokens "
                        "(mbart: en_XX); items with `language` or `target_language` override it. "
                        "Empty: the tokenizer's default."});
  section.read("target_language", options.pairs.target_language,
               {.help = "Language token of the targets; see source_language."});
  return make_seq2seq(options);
}

}  // namespace weft::objectives
