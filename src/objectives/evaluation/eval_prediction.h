#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "data/batch.h"
#include "formats/json.h"
#include "models/model.h"
#include "objectives/evaluation/record_evaluation.h"

namespace weft::objectives {

/// Outputs of a sequence-level head for the batch: (B, C).
at::Tensor sequence_outputs(models::Model& model,
                            const data::Batch& batch,
                            const nn::ForwardContext& context);

/// The batch's values as (B, T). Throws UserError if the data have a different number of values per
/// row than the model.
at::Tensor target_values(const data::Batch& batch, const at::Tensor& outputs);

/// One row of an evaluation: target and model output.
struct EvalPrediction {
  int64_t item = 0;
  int64_t label = 0;
  std::vector<double> values = {};  // target numbers, or 1 and 0 per class
  std::vector<float> outputs = {};  // of the head
  int64_t layers = 0;               // that they needed, with early exits; else 0

  static constexpr auto kFields = std::tuple(&EvalPrediction::label,
                                             &EvalPrediction::values,
                                             &EvalPrediction::outputs,
                                             &EvalPrediction::layers);
};

/// Evaluation of a sequence-level head: collects its outputs.
class PredictionEvaluation : public RecordEvaluation<EvalPrediction> {
 public:
  using RecordEvaluation::RecordEvaluation;

  /// Throws UserError if the data have a different number of values per row than the model.
  void add(models::Model& model,
           const data::Batch& batch,
           const nn::ForwardContext& context) override;

 protected:
  std::vector<EvalPrediction> rows() const { return records().in_item_order(); }
  /// Adds `layers`, the mean over the rows, if the model has early exits.
  static void add_layers(const std::vector<EvalPrediction>& rows,
                         std::map<std::string, double>& metrics);
  int64_t outputs() const { return static_cast<int64_t>(labels().size()); }
  /// Name of the class or number; `LABEL_0` if the model has none.
  const std::string& label_name(int64_t index) const {
    return labels()[static_cast<std::size_t>(index)];
  }
};

/// In double precision, of the logits of one row.
std::vector<double> softmax_of(const std::vector<float>& logits);
std::vector<double> sigmoid_of(const std::vector<float>& logits);
/// -log softmax(logits)[label].
double cross_entropy_of(const std::vector<float>& logits, int64_t label);
/// Binary cross-entropy, averaged over the classes.
double bce_loss_of(const std::vector<float>& logits, const std::vector<double>& targets);

/// The `limit` rows with the greatest loss, worst first; `fields_of` returns the fields of a row
/// by its index, and is called only for these rows.
std::vector<ExampleResult> hardest_examples_of(
    const std::vector<EvalPrediction>& rows,
    const std::vector<double>& losses,
    int64_t limit,
    const std::function<formats::Json(std::size_t)>& fields_of);

}  // namespace weft::objectives
