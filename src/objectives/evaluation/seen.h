#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/batch.h"
#include "formats/json.h"
#include "models/model.h"
#include "objectives/evaluation/verdict.h"

namespace weft::objectives {

/// What a head for whole texts gives for the batch: (B, C).
at::Tensor sequence_outputs(models::Model& model, const data::Batch& batch, const nn::Pass& pass);

/// Throws UserError where the data have another count of numbers in a row than the model gives.
void check_values(const data::Batch& batch, int64_t outputs);

/// The batch's values as (B, T) for outputs of this many columns, checked.
at::Tensor wanted_values(const data::Batch& batch, const at::Tensor& outputs);

/// One row of an evaluation: what was wanted of it and what the model gave.
struct Seen {
  int64_t item = 0;
  int64_t label = 0;
  std::vector<double> values = {};  // wanted numbers, or 1 and 0
  std::vector<float> outputs = {};  // of the head
};

/// Collects the rows of an evaluation. What is computed from them does not depend on how batches
/// were cut.
class SeenRows {
 public:
  void add(models::Model& model, const data::Batch& batch, const nn::Pass& pass);

  /// In the order of the items.
  std::vector<Seen> rows() const;
  int64_t outputs() const { return outputs_; }
  /// Of the class or number; `LABEL_0` where the model has no name for it.
  const std::string& name(int64_t index) const { return names_[static_cast<std::size_t>(index)]; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<Seen> rows_;
  std::vector<std::string> names_;
  int64_t outputs_ = 0;
};

/// In double precision, of the logits of one row.
std::vector<double> softmax_of(const std::vector<float>& logits);
std::vector<double> sigmoid_of(const std::vector<float>& logits);
/// -log softmax(logits)[label].
double cross_entropy_of(const std::vector<float>& logits, int64_t label);
/// Mean over the classes of the binary cross-entropy.
double flag_loss_of(const std::vector<float>& logits, const std::vector<double>& wanted);

/// Column `index` of rows of figures.
std::vector<double> column_of(const std::vector<std::vector<double>>& rows, int64_t index);

/// Verdicts on the `most` rows of greatest loss, worst first; `facts_of` tells what to say of a row
/// by its index, and is asked for those alone.
std::vector<Verdict> worst_of(const std::vector<Seen>& rows,
                              int64_t most,
                              const std::function<double(const Seen&)>& loss_of,
                              const std::function<formats::Json(std::size_t)>& facts_of);

}  // namespace weft::objectives
