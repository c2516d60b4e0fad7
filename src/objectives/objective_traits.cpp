#include "objectives/options.h"

namespace weft::objectives {

bool reads_raw_text(const ObjectiveOptions& options) {
  switch (options.type) {
    case ObjectiveType::kMlm:
    case ObjectiveType::kCausal:
    case ObjectiveType::kPrefix:
    case ObjectiveType::kSpanCorruption:
    case ObjectiveType::kDenoise:
    case ObjectiveType::kReplacedToken:
      return true;
    case ObjectiveType::kDistill:
      return options.distill.student_objective != StudentObjective::kClassify;
    case ObjectiveType::kClassify:
    case ObjectiveType::kRegress:
    case ObjectiveType::kTag:
    case ObjectiveType::kSeq2Seq:
    case ObjectiveType::kTranslationLm:
    case ObjectiveType::kMaskedImage:
      break;
  }
  return false;
}

bool predicts_tokens(const ObjectiveOptions& options) {
  return (reads_raw_text(options) && options.type != ObjectiveType::kReplacedToken) ||
         options.type == ObjectiveType::kSeq2Seq || options.type == ObjectiveType::kTranslationLm;
}

double target_fraction(const ObjectiveOptions& options) {
  switch (options.type) {
    case ObjectiveType::kMlm:
    case ObjectiveType::kTranslationLm:
    case ObjectiveType::kReplacedToken:
      return options.mask.fraction;
    case ObjectiveType::kDistill:
      return options.distill.student_objective == StudentObjective::kMlm ? options.mask.fraction
                                                                         : 1;
    case ObjectiveType::kSpanCorruption:
      return options.span_corruption.fraction;
    case ObjectiveType::kDenoise:
      return 0.5;  // of both streams: the original text
    case ObjectiveType::kSeq2Seq:
      return 0.5;
    case ObjectiveType::kCausal:
    case ObjectiveType::kPrefix:
    case ObjectiveType::kClassify:
    case ObjectiveType::kRegress:
    case ObjectiveType::kTag:
    case ObjectiveType::kMaskedImage:
      break;
  }
  return 1;
}

}  // namespace weft::objectives
