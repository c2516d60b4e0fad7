#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "data/batch.h"
#include "data/images/image_format.h"
#include "models/model.h"

namespace weft::objectives {

/// A model used only for inference, on the student's device and in its number format. It is loaded
/// on first use, and again for a student of another device or format.
class Teacher {
 public:
  explicit Teacher(std::string path) : path_(std::move(path)) {}

  /// Throws UserError if it is not compatible with the student.
  models::Model& model_for(const models::Model& student) const;

 private:
  void load(const models::Model& student) const;
  models::ModelOptions options_for(const models::ModelOptions& student) const;

  std::string path_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<models::Model> model_;
};

/// The teacher in the model directory, with the student's head as far as it has one. Throws
/// UserError if the directory cannot be read.
models::ModelOptions read_teacher_options(const std::string& directory, models::Head head);

/// A batch of images with another model's special tokens before the patches.
data::Batch with_special_tokens(const data::Batch& batch, const models::VisionOptions& vision);

/// Throws config::Error if an image teacher expects a different normalisation.
void check_image_normalization(const std::string& teacher,
                               const data::ImagePreprocessorConfig& format);

}  // namespace weft::objectives
