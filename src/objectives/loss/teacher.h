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

/// A model that is only asked, on the device and in the number format of the one that learns. It is
/// loaded when it is first asked.
class Teacher {
 public:
  explicit Teacher(std::string path) : path_(std::move(path)) {}

  /// Throws UserError where it cannot teach such a student.
  models::Model& like(const models::Model& student) const;

 private:
  void load(const models::Model& student) const;
  models::ModelOptions options_for(const models::ModelOptions& student) const;

  std::string path_;
  mutable std::once_flag loaded_;
  mutable std::shared_ptr<models::Model> model_;
};

/// The teacher that such an objective asks beside the model, with the model's head; nothing of
/// other objectives. Throws UserError where its directory cannot be read.
std::optional<models::ModelOptions> teacher_beside(const models::ModelOptions& model,
                                                   const ObjectiveOptions& objective);

/// A batch of images with those tokens of its own before the patches that another model has.
data::Batch with_own_tokens(const data::Batch& batch, const models::VisionOptions& vision);

/// Throws config::Error where a teacher of images wants them scaled to other numbers.
void check_image_numbers(const std::string& teacher, const data::ImageFormat& format);

}  // namespace weft::objectives
