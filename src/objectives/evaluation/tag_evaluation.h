#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/tag_scheme.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Tags of one sentence.
struct TaggedSentence {
  int64_t item = 0;
  double loss = 0;  // sum over its words
  std::vector<int64_t> wanted;
  std::vector<int64_t> found;
  std::vector<double> scores = {};  // probabilities of what was found
};

/// Accuracy of the tags, and precision, recall and F1: of whole entities over all types together
/// (as seqeval has it by default) where the tags mark entities, else of the tags, the plain mean
/// over those that occur.
class TagEvaluation : public Evaluation {
 public:
  void add(models::Model& model, const data::Batch& batch, const nn::Pass& pass) override;
  /// Of sentences that were tagged elsewhere.
  void add(TaggedSentence sentence, const std::vector<std::string>& labels);

  std::map<std::string, double> result() const override;
  /// `per_class`: the same of each type of entity, or of each tag.
  formats::Json details() const override;
  std::optional<std::vector<Verdict>> worst(int64_t most) const override;

 private:
  std::vector<TaggedSentence> in_item_order() const;

  std::vector<std::string> labels_;
  std::vector<TaggedSentence> sentences_;
};

}  // namespace weft::objectives
