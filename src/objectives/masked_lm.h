#pragma once

#include <memory>

#include "config/section.h"
#include "data/datasets/language_dataset.h"
#include "data/datasets/masking.h"
#include "objectives/objective.h"

namespace weft::objectives {

struct MaskedLmOptions {
  data::MaskOptions mask = {};
  data::PairTask pair = data::PairTask::kNone;
};

/// Type mlm: masked language modelling, optionally with a task on pairs of texts (arXiv:1810.04805,
/// section 3.1). Others derive from it that read other data.
class MaskedLmObjective : public Objective {
 public:
  explicit MaskedLmObjective(const MaskedLmOptions& options) : options_(options) {}

  std::string_view name() const override { return "mlm"; }
  models::Head head(const models::ModelOptions& model) const override;
  std::optional<Incompatibility> incompatibility(const models::ModelOptions& model) const override;
  ObjectiveTraits traits(const models::ModelOptions& model) const override;
  std::vector<std::string> terms() const override;
  std::vector<int64_t> counts(const data::Batch& batch) const override;
  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override;
  std::unique_ptr<Evaluation> evaluation() const override;
  data::Example sample_example(const models::ModelOptions& model, int64_t length) const override;
  void check_training(const TrainingSetup& setup) const override;

 protected:
  const MaskedLmOptions& options() const { return options_; }

 private:
  bool has_pairs() const { return options_.pair != data::PairTask::kNone; }
  Datasets read_datasets(const DatasetInputs& inputs) const override;

  MaskedLmOptions options_;
};

std::unique_ptr<Objective> make_masked_lm(const MaskedLmOptions& options = {});
std::unique_ptr<Objective> read_masked_lm(config::Section& section);

/// A key of the objective and its value.
struct ReplacementProb {
  const char* key;
  double value;
};
/// Reports at the second key that the two add up to more than 1.
void check_replacement_probs(config::Section& section,
                             const ReplacementProb& mask,
                             const ReplacementProb& random);

/// Reads the keys of objectives that mask tokens; what `mask` holds are the defaults. Throws
/// config::Error.
void read_mask_options(config::Section& section, data::MaskOptions& mask);

}  // namespace weft::objectives
