#include "objectives/data/image_datasets.h"

#include "base/string_util.h"
#include "batching/image_settings.h"
#include "models/config/family_definition.h"

namespace weft::objectives {

Datasets image_datasets(const ObjectiveOptions& objective,
                        const data::DataOptions& options,
                        const models::ModelOptions& model,
                        const data::Tokenizer& pixels,
                        uint64_t seed) {
  auto settings = batching::image_settings(model, options.images, pixels);
  settings.seed = seed;
  settings.labels = model.labels;
  if (objective.type == ObjectiveType::kMaskedImage) {
    settings.mask = objective.masked_image;
    settings.labels.clear();
  }
  Datasets result;
  const auto add_remarks = [&](const std::string& which, const data::Dataset& dataset) {
    for (const auto& remark : dataset.remarks()) {
      result.remarks.push_back(which + ": " + remark);
    }
  };
  if (!options.train.empty()) {
    auto training = settings;
    training.augment = options.augment;
    const auto train = data::make_image_dataset(options.train, training);
    settings.labels = train->labels();
    result.class_counts = train->class_counts();
    result.rows = train->rows();
    add_remarks("train", *train);
    result.train = train;
  }
  if (!options.evaluate.empty()) {
    const auto evaluate = data::make_image_dataset(options.evaluate, settings);
    settings.labels = evaluate->labels();
    add_remarks("evaluate", *evaluate);
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  if (objective.type == ObjectiveType::kClassify && result.labels.size() < 2) {
    throw config::Error(str_cat("objective.type: classify, but the images have only one class (",
                                join(result.labels), "), there must be at least two"));
  }
  return result;
}

models::Head head_for(models::Head wanted, const models::ModelOptions& model) {
  using models::Head;
  if (wanted == Head::kConditional && !models::is_encoder_decoder(model)) {
    return Head::kCausalLm;  // source and target are one sequence
  }
  const bool is_distilled = wanted == Head::kDistilledImage;
  if (!models::reads_images(model)) {
    return is_distilled ? Head::kSequence : wanted;
  }
  if (wanted != Head::kSequence && !is_distilled) {
    return wanted;
  }
  const bool has_both = models::has_head(model.family, Head::kDistilledImage);
  return has_both && (is_distilled || model.head == Head::kDistilledImage) ? Head::kDistilledImage
                                                                           : Head::kImage;
}

}  // namespace weft::objectives
