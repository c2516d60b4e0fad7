#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/batch.h"
#include "formats/json.h"
#include "models/model.h"

namespace weft::objectives {

/// Evaluation result of one item.
struct ExampleResult {
  int64_t item = 0;
  double loss = 0;
  formats::Json fields = {};  // label, prediction, score, ... as `evaluate --hardest` writes them
};

/// Accumulates metrics over evaluation batches. The result does not depend on how the data are
/// split into batches, nor on how the batches are split over several objects that are merged.
/// RecordEvaluation implements `serialize`, `merge`, `size` and `result_of`.
class Evaluation {
 public:
  virtual ~Evaluation() = default;
  /// Several threads may add batches at the same time.
  virtual void add(models::Model& model,
                   const data::Batch& batch,
                   const nn::ForwardContext& context) = 0;
  /// Everything that was added, exactly, for `merge` in another process.
  virtual std::string serialize() const = 0;
  /// Adds what an evaluation of the same objective and model serialized, as if its batches had been
  /// added here: in any order, the results have the same bits. Throws formats::Error for damaged
  /// bytes, those of another kind or of other labels, and for an item that is already there; then
  /// nothing changes.
  virtual void merge(std::string_view serialized) = 0;
  /// Names as in transformers, with the prefix `eval_`: eval_loss, eval_accuracy, eval_f1, ...
  virtual std::map<std::string, double> result() const = 0;
  /// Number of items that were added.
  virtual std::size_t size() const = 0;
  /// The result for these items only: indices in item order, with repetition (bootstrap).
  virtual std::map<std::string, double> result_of(const std::vector<std::size_t>& items) = 0;
  /// Results that are not single numbers, as a JSON object: per-class metrics, confusion matrix.
  virtual formats::Json details() const { return formats::Json::object(); }
  /// The items with the greatest loss, worst first, at most `limit`; nullopt if the objective does
  /// not score single items.
  virtual std::optional<std::vector<ExampleResult>> hardest_examples(int64_t /*limit*/) const {
    return std::nullopt;
  }
};

}  // namespace weft::objectives
