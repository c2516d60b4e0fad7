#include "objectives/objective.h"

#include <algorithm>
#include <stdexcept>

#include "base/string_util.h"
#include "data/datasets/language_dataset.h"
#include "data/rows/parallel_reader.h"
#include "formats/image.h"
#include "models/config/family_definition.h"
#include "objectives/data/training_texts.h"
#include "objectives/objective_registry.h"

namespace weft::objectives {

namespace {

/// Ids differ from one position to the next.
int64_t sample_id(int64_t position, int64_t count) {
  constexpr int64_t kStride = 7919;  // a prime
  return count > 0 ? position * kStride % count : 0;
}

data::Example sample_image(const models::VisionOptions& vision) {
  data::Example example;
  if (vision.has_class_token) {
    example.ids.push_back(formats::kClassToken);
  }
  if (vision.has_distillation_token) {
    example.ids.push_back(formats::kDistillationToken);
  }
  for (int64_t row = 0; row < vision.grid(); ++row) {
    for (int64_t column = 0; column < vision.grid(); ++column) {
      example.ids.push_back(formats::patch_id(row, column));
    }
  }
  example.patch_width = vision.patch_width();
  example.patches.assign(
      static_cast<std::size_t>(vision.grid() * vision.grid() * vision.patch_width()), 0.0F);
  return example;
}

data::Example sample_text(const models::ModelOptions& model, int64_t length) {
  data::Example example;
  for (int64_t position = 0; position < length; ++position) {
    example.ids.push_back(sample_id(position, model.vocabulary));
    if (model.type_vocab_size > 1) {
      example.token_type_ids.push_back(
          models::uses_token_type_ids(model) && position >= length / 2 ? 1 : 0);
    }
  }
  if (model.eos_id >= 0 && length > 0) {
    example.ids[static_cast<std::size_t>((length - 1) / 2)] = model.eos_id;
    example.ids.back() = model.eos_id;
  }
  if (model.document) {
    const auto longest = model.document->sentence_length;
    for (int64_t begin = 0; begin < length; begin += longest) {
      example.sentence_lengths.push_back(std::min(longest, length - begin));
    }
  }
  return example;
}

}  // namespace

Datasets Objective::make_datasets(const DatasetInputs& inputs) const {
  if (const auto wrong = find_incompatibility(*this, inputs.model)) {
    throw config::Error(str_cat("objective.", wrong->key, ": ", wrong->message));
  }
  return read_datasets(inputs);
}

data::LabelFormat Objective::label_format(const data::DataOptions& data) const {
  return {.separator = data.label_separator.value_or(""), .unlabelled = data.unlabelled};
}

data::SplitRows Objective::split_rows(const data::DataItem& /*item*/,
                                      const data::DataOptions& /*data*/,
                                      const models::ModelOptions& /*model*/) const {
  throw std::logic_error(str_cat("objective ", name(), " reads no rows"));
}

data::LanguageCodes Objective::language_codes(const data::DataOptions& data) const {
  return language_codes_of(data);
}

void Objective::visit_training_texts(const TrainingTexts& texts,
                                     const data::TextVisitor& visit) const {
  if (reads_pairs(texts.data, texts.model)) {
    data::visit_parallel_texts(texts.data.train, visit);
  } else {
    data::visit_texts(texts.data.train, texts.data, visit);
  }
}

data::Example sample_input(const models::ModelOptions& model, int64_t length) {
  return models::reads_images(model) ? sample_image(model.vision) : sample_text(model, length);
}

void add_sample_targets(data::Example& example, double fraction, int64_t classes, int64_t first) {
  double due = 0;
  for (auto position = first; position < static_cast<int64_t>(example.ids.size()); ++position) {
    due += fraction;
    if (due >= 1 - 1e-9) {
      due -= 1;
      example.target_positions.push_back(position);
      example.targets.push_back(sample_id(position, classes));
    }
  }
}

}  // namespace weft::objectives
