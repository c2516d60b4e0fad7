#include "models/layer_pruning.h"

#include <optional>
#include <string>
#include <string_view>

#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/layer_types.h"
#include "models/directory.h"

namespace weft::models {

namespace {

void check_layers(const char* what, const std::vector<int64_t>& kept, int64_t layers) {
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] < 0 || kept[i] >= layers || (i > 0 && kept[i] <= kept[i - 1])) {
      throw UserError(str_cat(what, ": found ", kept[i], ", expected increasing numbers from 0 to ",
                              layers - 1));
    }
  }
}

/// Name in the complete model of a parameter `stack.INDEX.part` of the pruned one.
std::string name_before(const std::string& name,
                        std::string_view stack,
                        const std::vector<int64_t>& kept) {
  if (kept.empty() || !name.starts_with(stack)) {
    return name;
  }
  const auto end = name.find('.', stack.size());
  const auto index = name.substr(stack.size(), end - stack.size());
  if (end == std::string::npos || index.find_first_not_of("0123456789") != std::string::npos) {
    return name;  // not of a layer
  }
  return str_cat(stack, kept[static_cast<std::size_t>(std::stoll(index))], name.substr(end));
}

}  // namespace

std::shared_ptr<Model> prune_layers(const Model& model,
                                    const std::vector<int64_t>& layers,
                                    const std::vector<int64_t>& decoder_layers) {
  auto options = model.options();
  check_layers("layers", layers, options.layers);
  check_layers("decoder layers", decoder_layers, options.decoder.layers);
  if (has_distinct_layer_types(options) || options.layer_types.sharing ||
      options.layer_groups > 0 || options.early_exit || options.document) {
    throw UserError(
        str_cat(architecture_of(options),
                ": its layers cannot be pruned, because they have different types, read "
                "documents, share their parameters or have early exits"));
  }
  options.layers = layers.empty() ? options.layers : std::ssize(layers);
  options.decoder.layers =
      decoder_layers.empty() ? options.decoder.layers : std::ssize(decoder_layers);
  auto pruned = make_model(options, 0);
  const at::NoGradGuard guard;
  const auto copy = [&](const auto& from, const auto& to) {
    for (const auto& tensor : to) {
      const auto name = name_before(name_before(tensor.key(), "layers.", layers), "decoder_layers.",
                                    decoder_layers);
      const auto* const source = from.find(name);
      if (source == nullptr || !source->sizes().equals(tensor.value().sizes())) {
        throw UserError(str_cat(architecture_of(options),
                                ": these layers cannot be pruned: ", tensor.key(),
                                " of the shallower model cannot be made from ", name));
      }
      tensor.value().copy_(*source);
    }
  };
  copy(model.named_parameters(), pruned->named_parameters());
  copy(model.named_buffers(), pruned->named_buffers());
  return pruned;
}

}  // namespace weft::models
