#include "objectives/objective.h"

#include <array>
#include <stdexcept>

#include "objectives/causal.h"
#include "objectives/distill.h"
#include "objectives/masked.h"
#include "objectives/masked_image.h"
#include "objectives/replaced_token.h"
#include "objectives/seq2seq.h"
#include "objectives/sequence.h"
#include "objectives/tag.h"

namespace weft::objectives {

namespace {

struct Row {
  ObjectiveType type;
  std::unique_ptr<Objective> (*make)(const ObjectiveOptions&);
};

constexpr std::array kObjectives = {
    Row{ObjectiveType::kMlm, make_masked_objective},
    Row{ObjectiveType::kClassify, make_classify_objective},
    Row{ObjectiveType::kRegress, make_regress_objective},
    Row{ObjectiveType::kTag, make_tag_objective},
    Row{ObjectiveType::kSeq2Seq,
        [](const ObjectiveOptions& options) { return make_seq2seq_objective(options); }},
    Row{ObjectiveType::kCausal, make_causal_objective},
    Row{ObjectiveType::kPrefix,
        [](const ObjectiveOptions& options) { return make_seq2seq_objective(options, "prefix"); }},
    Row{ObjectiveType::kSpanCorruption,
        [](const ObjectiveOptions& options) {
          return make_seq2seq_objective(options, "span_corruption");
        }},
    Row{ObjectiveType::kDenoise,
        [](const ObjectiveOptions& options) { return make_seq2seq_objective(options, "denoise"); }},
    Row{ObjectiveType::kTranslationLm, make_masked_objective},
    Row{ObjectiveType::kReplacedToken, make_replaced_token_objective},
    Row{ObjectiveType::kDistill, make_distill_objective},
    Row{ObjectiveType::kMaskedImage, make_masked_image_objective},
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
