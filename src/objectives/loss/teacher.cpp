#include "objectives/loss/teacher.h"

#include "base/error.h"
#include "base/string_util.h"
#include "batching/model_inputs.h"
#include "config/section.h"
#include "formats/image.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/directory.h"
#include "models/inference.h"

namespace weft::objectives {

namespace {

using models::Head;
using models::ModelOptions;

[[noreturn]] void reject(const std::string& path, const std::string& why) {
  throw UserError(str_cat("objective.teacher: ", path, " ", why));
}

void check_images(const std::string& path, const ModelOptions& teacher, const ModelOptions& own) {
  if (!models::reads_images(teacher)) {
    reject(path, "is not an image model like the student");
  }
  const auto& vision = teacher.vision;
  if (vision.image_size != own.vision.image_size || vision.patch_size != own.vision.patch_size ||
      vision.channels != own.vision.channels) {
    const auto shape = [](const models::VisionOptions& of) {
      return str_cat(of.channels, " x ", of.image_size, " x ", of.image_size,
                     " pixels in patches of ", of.patch_size);
    };
    reject(path, str_cat("reads ", shape(vision), ", but the student reads ", shape(own.vision),
                         ": both must read the same images"));
  }
}

bool has_same_format(const models::Model& a, const models::Model& b) {
  const auto first = a.named_parameters().values().front();
  const auto second = b.named_parameters().values().front();
  return first.device() == second.device() && first.scalar_type() == second.scalar_type();
}

}  // namespace

ModelOptions read_teacher_options(const std::string& path, Head head) {
  auto options = models::read_model_config(models::model_directory(path));
  if (options.head != Head::kDistilledImage || head == Head::kSequence) {
    options.head = head == Head::kDistilledImage ? Head::kImage : head;
  }
  return options;
}

models::Model& Teacher::model_for(const models::Model& student) const {
  const std::scoped_lock lock(mutex_);
  if (!model_ || !has_same_format(*model_, student)) {
    load(student);
  }
  return *model_;
}

ModelOptions Teacher::options_for(const ModelOptions& student) const {
  auto options = read_teacher_options(path_, student.head);
  if (options.document) {
    reject(path_, "reads documents sentence by sentence, which a student does not");
  }
  if (models::reads_images(student)) {
    check_images(path_, options, student);
  } else if (options.vocabulary != student.vocabulary) {
    reject(path_, str_cat("has ", options.vocabulary, " token ids, but the student has ",
                          student.vocabulary, ": both must have the same tokenizer"));
  }
  if (batching::languages_of(options) != batching::languages_of(student)) {
    const auto language_names = [](const ModelOptions& of) {
      const auto languages = batching::languages_of(of);
      return languages.empty() ? std::string("none") : join(languages);
    };
    reject(path_, str_cat("has the languages ", language_names(options), "; the student has ",
                          language_names(student), "; both must have the same"));
  }
  if (models::head_of(student).classifies_sequences && options.labels != student.labels) {
    reject(path_, str_cat("has the classes ", join(options.labels), ", but the data have ",
                          join(student.labels)));
  }
  return options;
}

void Teacher::load(const models::Model& student) const {
  const auto directory = models::model_directory(path_);
  const auto parameter = student.named_parameters().values().front();
  const auto loaded =
      models::load_for_inference(directory, options_for(student.options()),
                                 {.device = parameter.device(), .type = parameter.scalar_type()});
  if (!loaded.missing_keys.empty()) {
    reject(path_, str_cat("has missing keys: ", join(loaded.missing_keys)));
  }
  model_ = loaded.model;
}

data::Batch with_special_tokens(const data::Batch& batch, const models::VisionOptions& vision) {
  auto made = batch;
  made.ids.clear();
  made.offsets = {0};
  for (std::size_t b = 0; b + 1 < batch.offsets.size(); ++b) {
    if (vision.has_class_token) {
      made.ids.push_back(formats::kClassToken);
    }
    if (vision.has_distillation_token) {
      made.ids.push_back(formats::kDistillationToken);
    }
    for (auto i = batch.offsets[b]; i < batch.offsets[b + 1]; ++i) {
      if (const auto id = batch.ids[static_cast<std::size_t>(i)]; id >= 0) {
        made.ids.push_back(id);
      }
    }
    made.offsets.push_back(static_cast<int64_t>(made.ids.size()));
  }
  return made;
}

void check_image_normalization(const std::string& teacher,
                               const data::ImagePreprocessorConfig& format) {
  const auto wanted =
      data::read_preprocessor_config(models::model_directory(teacher), format.channels);
  if (wanted &&
      (wanted->image_mean != format.image_mean || wanted->image_std != format.image_std)) {
    throw config::Error(str_cat("objective.teacher: ", teacher,
                                " uses a different image mean or standard deviation than this run: "
                                "both must be the same (data.images.mean, data.images.std)"));
  }
}

}  // namespace weft::objectives
