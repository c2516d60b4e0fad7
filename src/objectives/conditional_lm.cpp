#include "objectives/conditional_lm.h"

#include <algorithm>
#include <cmath>

#include "batching/hidden_states.h"
#include "models/config/family_definition.h"
#include "objectives/evaluation/token_evaluation.h"
#include "objectives/objective.h"

namespace weft::objectives {

models::Head ConditionalLmObjective::head(const models::ModelOptions& model) const {
  // Without an encoder, source and target are one sequence.
  return models::is_encoder_decoder(model) ? models::Head::kConditional : models::Head::kCausalLm;
}

std::optional<Incompatibility> ConditionalLmObjective::incompatibility(
    const models::ModelOptions& model) const {
  return requires_text_head(name(), model, models::Head::kConditional, "encoder and decoder");
}

std::vector<at::Tensor> ConditionalLmObjective::losses(models::Model& model,
                                                       const data::Batch& batch,
                                                       const nn::ForwardContext& context) const {
  return {token_loss(model, batching::target_states(model, batch, context), batch, context,
                     label_smoothing_)};
}

std::unique_ptr<Evaluation> ConditionalLmObjective::evaluation() const {
  return make_token_evaluation();
}

// `length` is the source's, or that of both where they are one sequence.
data::Example ConditionalLmObjective::sample_example(const models::ModelOptions& model,
                                                     int64_t length) const {
  if (!models::is_encoder_decoder(model)) {
    auto example = sample_input(model, length);
    example.prefix_length = std::llround((1 - target_fraction_) * static_cast<double>(length));
    add_sample_targets(example, 1, model.vocabulary, example.prefix_length);
    return example;
  }
  const double per_source_token = target_fraction_ / (1 - target_fraction_);
  const auto targets = std::llround(per_source_token * static_cast<double>(length));
  auto example = sample_input(model, std::clamp<int64_t>(targets, 1, model.length));
  example.source_ids = sample_input(model, length).ids;
  add_sample_targets(example, 1, model.vocabulary);
  return example;
}

}  // namespace weft::objectives
