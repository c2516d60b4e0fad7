#include "objectives/objective.h"

#include <array>
#include <stdexcept>

#include "objectives/causal_lm.h"
#include "objectives/distill.h"
#include "objectives/masked_image.h"
#include "objectives/masked_lm.h"
#include "objectives/replaced_token.h"
#include "objectives/seq2seq.h"
#include "objectives/sequence_objectives.h"
#include "objectives/tag.h"

namespace weft::objectives {

namespace {

struct Factory {
  ObjectiveType type;
  std::unique_ptr<Objective> (*make)(const ObjectiveOptions&);
};

constexpr std::array kObjectives = {
    Factory{ObjectiveType::kMlm, make_masked_lm_objective},
    Factory{ObjectiveType::kClassify, make_classify_objective},
    Factory{ObjectiveType::kRegress, make_regress_objective},
    Factory{ObjectiveType::kTag, make_tag_objective},
    Factory{ObjectiveType::kSeq2Seq,
            [](const ObjectiveOptions& options) { return make_seq2seq_objective(options); }},
    Factory{ObjectiveType::kCausal, make_causal_lm_objective},
    Factory{ObjectiveType::kPrefix,
            [](const ObjectiveOptions& options) {
              return make_seq2seq_objective(options, "prefix_lm");
            }},
    Factory{ObjectiveType::kSpanCorruption,
            [](const ObjectiveOptions& options) {
              return make_seq2seq_objective(options, "span_corruption",
                                            options.span_corruption.fraction);
            }},
    Factory{
        ObjectiveType::kDenoise,
        [](const ObjectiveOptions& options) { return make_seq2seq_objective(options, "denoise"); }},
    Factory{ObjectiveType::kTranslationLm, make_masked_lm_objective},
    Factory{ObjectiveType::kReplacedToken, make_replaced_token_objective},
    Factory{ObjectiveType::kDistill, make_distill_objective},
    Factory{ObjectiveType::kMaskedImage, make_masked_image_objective},
};

}  // namespace

std::unique_ptr<Objective> make_objective(const ObjectiveOptions& options) {
  for (const auto& row : kObjectives) {
    if (row.type == options.type) {
      return row.make(options);
    }
  }
  throw std::logic_error("an objective that no row makes");
}

}  // namespace weft::objectives
