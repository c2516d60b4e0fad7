#include "objectives/conditional_lm.h"

#include "batching/hidden_states.h"
#include "models/config/family_definition.h"
#include "objectives/evaluation/token_evaluation.h"

namespace weft::objectives {

models::Head ConditionalLmObjective::head(const models::ModelOptions& model) const {
  // Without an encoder, source and target are one sequence.
  return models::is_encoder_decoder(model) ? models::Head::kConditional : models::Head::kCausalLm;
}

std::optional<Incompatibility> ConditionalLmObjective::incompatibility(
    const models::ModelOptions& model) const {
  return requires_text_head(name(), model, models::Head::kConditional, "encoder and decoder");
}

ObjectiveTraits ConditionalLmObjective::traits(const models::ModelOptions& model) const {
  return {
      .predicts_tokens = true,
      .states_read = models::is_encoder_decoder(model) ? StatesRead::kAll : StatesRead::kTargets};
}

std::vector<at::Tensor> ConditionalLmObjective::losses(models::Model& model,
                                                       const data::Batch& batch,
                                                       const nn::ForwardContext& context) const {
  return {
      token_loss(model, batching::target_states(model, batch, context), batch, label_smoothing_)};
}

std::unique_ptr<Evaluation> ConditionalLmObjective::evaluation() const {
  return make_token_evaluation();
}

}  // namespace weft::objectives
