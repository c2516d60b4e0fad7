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

}  // namespace weft::objectives
