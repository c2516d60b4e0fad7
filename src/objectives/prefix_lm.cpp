#include <algorithm>

#include "data/datasets/causal_dataset.h"
#include "data/datasets/corruption.h"
#include "models/config/family_definition.h"
#include "objectives/conditional_lm.h"
#include "objectives/data/text_datasets.h"
#include "objectives/data/training_texts.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

/// A decoder's prefixes are followed by the rest of the text, or by the target of a pair.
void refuse_mixed_items(const config::Section& section, const data::DataOptions& data) {
  auto items = data.train;
  items.insert(items.end(), data.evaluate.begin(), data.evaluate.end());
  const bool is_mixed = std::any_of(items.begin(), items.end(), [&](const auto& item) {
    return names_pairs({item}) != names_pairs(data.train);
  });
  if (is_mixed) {
    section.report("train",
                   "some items here or in data.evaluate have source or target, others do not: all "
                   "must be text pairs, or all running text");
  }
}

class PrefixLmObjective : public ConditionalLmObjective {
 public:
  PrefixLmObjective() : ConditionalLmObjective(/*target_fraction=*/0.5) {}

  std::string_view name() const override { return "prefix_lm"; }
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override {
    return requires_text_head(name(), model, head(model),
                              "causal language modelling head and no encoder and decoder");
  }
  ObjectiveTraits traits(const models::ModelOptions& model) const override {
    return {.reads_raw_text = true, .is_prefix_lm = !models::is_encoder_decoder(model)};
  }
  bool reads_pairs(const data::DataOptions& data,
                   const models::ModelOptions& model) const override {
    return !models::is_encoder_decoder(model) && names_pairs(data.train);
  }
  data::DataOptions store_options(const data::DataOptions& data,
                                  const models::ModelOptions& model) const override {
    return models::is_encoder_decoder(model) ? data : data::whole_documents(data);
  }
  void check_training(const TrainingSetup& setup) const override {
    if (models::is_encoder_decoder(setup.model)) {
      return;
    }
    refuse_mixed_items(setup.data_section, setup.data);
    if (!reads_pairs(setup.data, setup.model)) {
      check_causal_data(setup.data_section, setup.data);
    }
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    if (inputs.model.prefix_end_id >= 0) {
      return parallel_datasets(inputs, {});
    }
    if (models::is_encoder_decoder(inputs.model)) {
      return corrupted_datasets(inputs, [&](int64_t start_id) {
        return data::make_prefix_split(*inputs.tokenizer, start_id);
      });
    }
    return datasets_by(inputs, [&](const auto& items, const auto& data, bool /*is_training*/) {
      return data::make_prefix_dataset(make_causal_dataset(items, data, language_settings(inputs),
                                                           *inputs.tokenizer, inputs.progress),
                                       inputs.seed);
    });
  }
};

}  // namespace

std::unique_ptr<Objective> make_prefix_lm() { return std::make_unique<PrefixLmObjective>(); }

std::unique_ptr<Objective> read_prefix_lm(config::Section& /*section*/) { return make_prefix_lm(); }

}  // namespace weft::objectives
