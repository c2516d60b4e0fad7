#include "objectives/data/image_datasets.h"

#include "batching/image_settings.h"
#include "data/images/image_dataset.h"

namespace weft::objectives {

Datasets image_datasets(const DatasetInputs& inputs,
                        const std::optional<data::MaskedImageOptions>& mask) {
  auto settings = batching::image_settings(inputs.model, inputs.data.images, *inputs.tokenizer);
  settings.seed = inputs.seed;
  settings.mask = mask;
  if (!mask) {
    settings.labels = inputs.model.labels;
  }
  Datasets result;
  if (!inputs.data.train.empty()) {
    auto training = settings;
    training.augment = inputs.data.augment;
    const auto train = data::make_image_dataset(inputs.data.train, training);
    settings.labels = train->labels();
    result.class_counts = train->class_counts();
    result.rows = train->rows();
    add_remarks("train", *train, result);
    result.train = train;
  }
  if (!inputs.data.evaluate.empty()) {
    const auto evaluate = data::make_image_dataset(inputs.data.evaluate, settings);
    settings.labels = evaluate->labels();
    add_remarks("evaluate", *evaluate, result);
    result.evaluate = evaluate;
  }
  result.labels = settings.labels;
  return result;
}

}  // namespace weft::objectives
