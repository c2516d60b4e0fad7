#include "nn/block_context.h"

namespace weft::nn {

BlockContext::BlockContext(const ForwardContext& context) : context_(context) {
  if (context.encoder_states != nullptr) {
    encoder_states_ = *context.encoder_states;
    tensors_.push_back(encoder_states_->states);
  }
  if (context.memory_slots.defined()) {
    tensors_.push_back(context.memory_slots);
  }
  if (context.distance_bias.defined()) {
    tensors_.push_back(context.distance_bias);
  }
  if (context.distance_table.vectors.defined()) {
    tensors_.push_back(context.distance_table.vectors);
  }
  for (const auto& [name, tensor] : context.position_tensors) {
    tensors_.push_back(tensor);
  }
}

ForwardContext BlockContext::with(const at::Tensor* tensors, AuxiliaryLosses& losses) {
  auto result = context_;
  if (encoder_states_) {
    encoder_states_->states = *tensors++;
    result.encoder_states = &*encoder_states_;
  }
  if (result.memory_slots.defined()) {
    result.memory_slots = *tensors++;
  }
  if (result.distance_bias.defined()) {
    result.distance_bias = *tensors++;
  }
  if (result.distance_table.vectors.defined()) {
    result.distance_table.vectors = *tensors++;
  }
  for (auto& [name, tensor] : result.position_tensors) {
    tensor = *tensors++;
  }
  result.auxiliary_losses = context_.auxiliary_losses == nullptr ? nullptr : &losses;
  return result;
}

}  // namespace weft::nn
