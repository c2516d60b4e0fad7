#include "models/config/modernbert.h"

#include <cmath>

#include "models/config/traits.h"

namespace weft::models {

namespace {

bool ends(const std::string& name, std::string_view end) { return name.ends_with(end); }

bool holds(const std::string& name, std::string_view part) {
  return name.find(part) != std::string::npos;
}

}  // namespace

ModelOptions modernbert_defaults() {
  ModelOptions options;
  options.family = Family::kModernBert;
  options.layers = 22;
  options.width = 1152;
  options.length = 8192;
  options.type_vocab_size = 0;
  options.norm_placement = NormPlacement::kPre;
  options.norm_epsilon = 1e-5;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.classifier_dropout = 0;
  options.rope = {.theta = 160'000, .local_theta = 10'000};
  options.window = {.size = 128, .global_every = 3};
  options.biases = {.attention = false, .feed_forward = false, .norm = false, .head = false};
  options.is_gated = true;
  options.init_cutoff = 2;
  return options;
}

bool is_global_attention_layer(const ModelOptions& options, int64_t layer) {
  return options.window.global_layers.empty()
             ? layer % options.window.global_every == 0
             : options.window.global_layers[static_cast<std::size_t>(layer)];
}

bool has_parameter(const ModelOptions& options, const std::string& parameter) {
  const bool has_first_norm = capabilities_of(options.family).has_first_norm;
  if (!has_first_norm && parameter.starts_with("layers.0.attention_norm.")) {
    return false;
  }
  if (ends(parameter, "norm.bias")) {
    return options.biases.norm;
  }
  if (parameter.starts_with("layers.") && ends(parameter, ".bias")) {
    return holds(parameter, ".attention.") ? options.biases.attention : options.biases.feed_forward;
  }
  if (parameter == "head.dense.bias") {
    return options.biases.head;
  }
  return parameter != "head.bias" || options.biases.mlm_output;
}

double modernbert_init_std(const ModelOptions& options, const std::string& parameter) {
  if (parameter == "head.output.weight") {
    return 1 / std::sqrt(static_cast<double>(options.dim));
  }
  const bool enters_stream = ends(parameter, "attention.output.weight") ||
                             ends(parameter, "feed_forward.down.weight") ||
                             parameter.starts_with("head.");
  return enters_stream ? options.init_std / std::sqrt(2.0 * static_cast<double>(options.layers))
                       : options.init_std;
}

}  // namespace weft::models
