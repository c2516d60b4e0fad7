#include "objectives/sequence_objective.h"

#include <algorithm>

#include "data/datasets/language_dataset.h"
#include "data/rows/labelled_rows.h"
#include "models/config/family_definition.h"
#include "models/config/layer_types.h"
#include "objectives/data/training_texts.h"

namespace weft::objectives {

models::Head sequence_head(const models::ModelOptions& model) {
  using models::Head;
  if (!models::reads_images(model)) {
    return Head::kSequence;
  }
  const bool is_distilled =
      model.head == Head::kDistilledImage && models::has_head(model.family, Head::kDistilledImage);
  return is_distilled ? Head::kDistilledImage : Head::kImage;
}

double read_r_drop(config::Section& section) {
  double r_drop = 0;
  section.read("r_drop", r_drop,
               {.help = "R-Drop (arXiv:2106.14448): weight of the consistency loss between two "
                        "forward passes with different dropout masks (symmetric KL divergence; for "
                        "regression the squared difference). 0: off, one pass.",
                .range = config::at_least(0)});
  return r_drop;
}

models::Head SequenceObjective::head(const models::ModelOptions& model) const {
  return sequence_head(model);
}

std::optional<Incompatibility> SequenceObjective::incompatibility(
    const models::ModelOptions& model) const {
  if (!models::reads_images(model)) {
    if (auto wrong = requires_sequence_head(name(), model)) {
      return wrong;
    }
  }
  if (r_drop_ > 0 && models::draws_at_random(model.layer_types)) {
    return Incompatibility{
        "r_drop",
        "is not possible with attention that draws keys at random, of which each "
        "text has one draw: allowed is 0"};
  }
  const bool drops = model.dropout > 0 || model.attention_dropout > 0 ||
                     model.classifier_dropout.value_or(model.dropout) > 0;
  if (r_drop_ > 0 && !drops) {
    return Incompatibility{"r_drop",
                           "compares two passes with different dropout masks, but the model has no "
                           "dropout: allowed is 0"};
  }
  return std::nullopt;
}

ObjectiveTraits SequenceObjective::traits(const models::ModelOptions& /*model*/) const {
  return {.is_sequence_level = true,
          .reads_rows = true,
          .reads_sentences = true,
          .trains_all_classifiers = true};
}

TrainingDefaults SequenceObjective::training_defaults(const TrainingStart& start) const {
  return labelled_training_defaults(start);
}

data::Example SequenceObjective::sample_example(const models::ModelOptions& model,
                                                int64_t length) const {
  auto example = sample_input(model, length);
  example.values.assign(static_cast<std::size_t>(models::head_outputs(model)), 0);
  return example;
}

data::SplitRows SequenceObjective::split_rows(const data::DataItem& item,
                                              const data::DataOptions& data,
                                              const models::ModelOptions& model) const {
  return models::reads_images(model) ? data::image_split_rows(item, true)
                                     : data::labelled_split_rows(item, label_format(data));
}

void SequenceObjective::visit_training_texts(const TrainingTexts& texts,
                                             const data::TextVisitor& visit) const {
  const auto& items = texts.data.train;
  if (std::any_of(items.begin(), items.end(),
                  [](const auto& item) { return item.rows.has_value(); })) {
    data::visit_labelled_texts(items, label_format(texts.data), visit);
  } else {
    data::visit_texts(items, texts.data, visit);
  }
}

}  // namespace weft::objectives
