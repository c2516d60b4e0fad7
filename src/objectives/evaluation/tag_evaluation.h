#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "metrics/tag_scheme.h"
#include "objectives/evaluation/record_evaluation.h"

namespace weft::objectives {

/// Tags of one sentence.
struct TaggedSentence {
  int64_t item = 0;
  double loss = 0;  // sum over its words
  std::vector<int64_t> labels;
  std::vector<int64_t> predictions;
  std::vector<double> scores = {};  // probabilities of the predictions

  static constexpr auto kFields = std::tuple(&TaggedSentence::loss,
                                             &TaggedSentence::labels,
                                             &TaggedSentence::predictions,
                                             &TaggedSentence::scores);
};

/// Tag accuracy, and precision, recall and F1: micro-averaged over whole entities (seqeval's
/// default) if the tags mark entities, else macro-averaged over the tags that occur.
class TagEvaluation : public RecordEvaluation<TaggedSentence> {
 public:
  TagEvaluation() : RecordEvaluation("tag") {}

  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override;
  /// Adds a sentence that was tagged elsewhere.
  void add(TaggedSentence sentence, const std::vector<std::string>& labels);

  std::map<std::string, double> result() const override;
  /// `per_class`: the same metrics for each entity type, or for each tag.
  formats::Json details() const override;
  std::optional<std::vector<ExampleResult>> hardest_examples(int64_t limit) const override;
};

}  // namespace weft::objectives
