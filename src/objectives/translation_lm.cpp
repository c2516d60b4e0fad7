#include "data/datasets/translation_dataset.h"
#include "objectives/data/text_datasets.h"
#include "objectives/masked_lm.h"
#include "objectives/objectives.h"

namespace weft::objectives {

namespace {

class TranslationLmObjective : public MaskedLmObjective {
 public:
  using MaskedLmObjective::MaskedLmObjective;

  std::string_view name() const override { return "translation_lm"; }
  ObjectiveTraits traits(const models::ModelOptions& /*model*/) const override { return {}; }
  bool reads_pairs(const data::DataOptions& /*data*/,
                   const models::ModelOptions& /*model*/) const override {
    return true;
  }

 private:
  Datasets read_datasets(const DatasetInputs& inputs) const override {
    auto settings = language_settings(inputs);
    settings.mask = options().mask;
    return datasets_by(inputs, [&](const auto& items, const auto& data, bool /*is_training*/) {
      return make_translation_dataset(items, data, settings, *inputs.tokenizer, inputs.progress);
    });
  }
};

}  // namespace

std::unique_ptr<Objective> make_translation_lm(const data::MaskOptions& mask) {
  return std::make_unique<TranslationLmObjective>(MaskedLmOptions{.mask = mask});
}

std::unique_ptr<Objective> read_translation_lm(config::Section& section) {
  data::MaskOptions mask;
  read_mask_options(section, mask);
  return make_translation_lm(mask);
}

}  // namespace weft::objectives
