#pragma once

#include <optional>
#include <string_view>

#include "config/section.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Base of the objectives with one prediction for each text, pair of texts or image, of a table of
/// labelled rows.
class SequenceObjective : public Objective {
 public:
  /// `r_drop`: weight of R-Drop's divergence (loss/r_drop.h).
  explicit SequenceObjective(double r_drop) : r_drop_(r_drop) {}

  models::Head head(const models::ModelOptions& model) const override;
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override;
  ObjectiveTraits traits(const models::ModelOptions& model) const override;
  TrainingDefaults training_defaults(const TrainingStart& start) const override;
  /// With one value per output of the head.
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override;
  data::SplitRows split_rows(const data::DataItem& item,
                             const data::DataOptions& data,
                             const models::ModelOptions& model) const override;
  void visit_training_texts(const TrainingTexts& texts,
                            const data::TextVisitor& visit) const override;

 protected:
  double r_drop() const { return r_drop_; }

 private:
  double r_drop_;
};

/// The head for whole texts, or that of the model's family for whole images.
models::Head sequence_head(const models::ModelOptions& model);

/// Reads `r_drop`.
double read_r_drop(config::Section& section);

}  // namespace weft::objectives
