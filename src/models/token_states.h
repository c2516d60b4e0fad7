#pragma once

#include "models/model.h"

namespace weft::models {

/// Model::hidden and Model::histories of the same rows.
nn::TokenStates token_states(Model& model,
                             const TextInput& input,
                             const nn::ForwardContext& context);

/// Model::selected_hidden_states and Model::selected_histories.
nn::TokenStates selected_token_states(Model& model,
                                      const TextInput& input,
                                      const nn::ForwardContext& context,
                                      const nn::RowSelection& rows);

}  // namespace weft::models
