#include "models/token_states.h"

namespace weft::models {

nn::TokenStates token_states(Model& model,
                             const TextInput& input,
                             const nn::ForwardContext& context) {
  return {model.hidden(input, context), model.histories(input, context)};
}

nn::TokenStates selected_token_states(Model& model,
                                      const TextInput& input,
                                      const nn::ForwardContext& context,
                                      const nn::RowSelection& rows) {
  return {model.selected_hidden_states(input, context, rows),
          model.selected_histories(input, context, rows)};
}

}  // namespace weft::models
