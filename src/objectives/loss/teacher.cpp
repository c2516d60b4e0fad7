#include "objectives/loss/teacher.h"

#include "base/error.h"
#include "base/text.h"
#include "batching/token_types.h"
#include "config/section.h"
#include "formats/image_patches.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "models/inference.h"

namespace weft::objectives {

namespace {

using models::Head;
using models::ModelOptions;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UserError(text("objective.teacher: ", path, " ", why));
}

void check_images(const std::string& path, const ModelOptions& teacher, const ModelOptions& own) {
  if (!models::reads_images(teacher)) {
    refuse(path, "reads no images, as the student does");
  }
  const auto& vision = teacher.vision;
  if (vision.image_size != own.vision.image_size || vision.patch != own.vision.patch ||
      vision.channels != own.vision.channels) {
    const auto shape = [](const models::VisionOptions& of) {
      return text(of.channels, " x ", of.image_size, " x ", of.image_size, " pixels in patches of ",
                  of.patch);
    };
    refuse(path, text("reads ", shape(vision), ", the student ", shape(own.vision),
                      ": they must read the same"));
  }
}

bool classifies(Head head) {
  return head == Head::kSequence || head == Head::kImage || head == Head::kTaughtImage;
}

/// The teacher in the directory, with the student's head.
ModelOptions read_teacher(const std::string& path, Head head) {
  auto options = models::read_model_config(models::model_directory(path));
  if (options.head != Head::kTaughtImage || head == Head::kSequence) {
    options.head = head == Head::kTaughtImage ? Head::kImage : head;
  }
  return options;
}

}  // namespace

models::Model& Teacher::like(const models::Model& student) const {
  std::call_once(loaded_, [&] { load(student); });
  return *model_;
}

ModelOptions Teacher::options_for(const ModelOptions& student) const {
  auto options = read_teacher(path_, student.head);
  if (models::reads_images(student)) {
    check_images(path_, options, student);
  } else if (options.vocabulary != student.vocabulary) {
    refuse(path_, text("has ", options.vocabulary, " ids, the student ", student.vocabulary,
                       ": they must have the same tokenizer"));
  }
  if (batching::languages_of(options) != batching::languages_of(student)) {
    const auto told = [](const ModelOptions& of) {
      const auto languages = batching::languages_of(of);
      return languages.empty() ? std::string("none") : join(languages);
    };
    refuse(path_, text("tells apart these languages: ", told(options),
                       "; the student: ", told(student), "; they must be the same"));
  }
  if (classifies(student.head) && options.labels != student.labels) {
    refuse(path_, text("knows the classes ", join(options.labels), ", the data have ",
                       join(student.labels)));
  }
  return options;
}

void Teacher::load(const models::Model& student) const {
  const auto directory = models::model_directory(path_);
  auto loaded = models::load_model(directory, options_for(student.options()), 0);
  if (!loaded.fresh.empty()) {
    refuse(path_, text("has no weights for ", join(loaded.fresh)));
  }
  const auto parameter = student.named_parameters().values().front();
  models::prepare_for_inference(*loaded.model,
                                {.device = parameter.device(), .type = parameter.scalar_type()});
  model_ = loaded.model;
}

std::optional<ModelOptions> teacher_beside(const ModelOptions& model,
                                           const ObjectiveOptions& objective) {
  return objective.type == ObjectiveType::kDistill
             ? std::optional(read_teacher(objective.distill.teacher, model.head))
             : std::nullopt;
}

data::Batch with_own_tokens(const data::Batch& batch, const models::VisionOptions& vision) {
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

void check_image_numbers(const std::string& teacher, const data::ImageFormat& format) {
  const auto wanted = data::read_image_format(models::model_directory(teacher), format.channels);
  if (wanted && (wanted->mean != format.mean || wanted->deviation != format.deviation)) {
    throw config::Error(text("objective.teacher: ", teacher,
                             " has another mean or deviation of its images than this run: they "
                             "must be the same (data.images.mean, data.images.deviation)"));
  }
}

}  // namespace weft::objectives
