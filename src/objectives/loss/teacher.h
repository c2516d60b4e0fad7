#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "data/batch.h"
#include "data/images/image_format.h"
#include "models/model.h"
#include "objectives/options.h"

namespace weft::objectives {

/// A model used only for inference, on the student's device and in its number format. It is loaded
/// on first use.
class Teacher {
 public:
  explicit Teacher(std::string path) : path_(std::move(path)) {}

  /// Throws UserError if it is not compatible with the student.
  models::Model& model_for(const models::Model& student) const;

 private:
  void load(const models::Model& student) const;
  models::ModelOptions options_for(const models::ModelOptions& student) const;

  std::string path_;
  mutable std::once_flag loaded_;
  mutable std::shared_ptr<models::Model> model_;
};

/// The teacher of a distillation, with the model's head; nullopt for other objectives. Throws
/// UserError if its directory cannot be read.
std::optional<models::ModelOptions> teacher_model_options(const models::ModelOptions& model,
                                                          const ObjectiveOptions& objective);

/// A batch of images with another model's special tokens before the patches.
data::Batch with_special_tokens(const data::Batch& batch, const models::VisionOptions& vision);

/// Throws config::Error if an image teacher expects a different normalisation.
void check_image_normalization(const std::string& teacher,
                               const data::ImagePreprocessorConfig& format);

}  // namespace weft::objectives
