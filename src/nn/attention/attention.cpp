#include "nn/attention/attention.h"

#include <cmath>

#include "base/string_util.h"
#include "nn/attention/approximations/nystrom.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/delight.h"
#include "nn/attention/patterns/sparse_pattern.h"

namespace weft::nn {

namespace {

Registry<AttentionDefinition>& attention_registry() {
  static Registry<AttentionDefinition> registry(
      "attention type",
      {
          {"full", [](config::Section&) { return AttentionMaker(make_full_attention); }},
          {"window", read_window_attention},
          {"block_local", read_sparse_attention<read_block_local_pattern>},
          {"strided", read_sparse_attention<read_strided_pattern>},
          {"dilated", read_sparse_attention<read_dilated_pattern>},
          {"sparse_transformer", read_sparse_transformer_attention},
          {"multi_scale", read_sparse_attention<read_multi_scale_pattern>},
          {"big_bird", read_sparse_attention<read_big_bird_pattern>},
          {"hybrid", read_hybrid_attention},
          {"longformer", read_longformer_attention},
          {"binary_tree", read_binary_tree_attention},
          {"talking_heads", read_talking_heads_attention},
          {"gaussian", read_gaussian_attention},
          {.name = "realformer", .read = read_realformer_attention, .reads_layer_before = true},
          {"synthesizer", read_synthesizer_attention},
          {"linformer", read_linformer_attention},
          {"nystrom", read_nystrom_attention},
          {"memory_compressed", read_memory_compressed_attention},
          {"induced", read_induced_attention},
          {"linear", read_linear_attention},
          {"performer", read_performer_attention},
          {"reformer", read_reformer_attention},
          {"routing", read_routing_attention},
          {"clustered", read_clustered_attention},
          {"informer", read_informer_attention},
          {"lite_transformer", read_lite_transformer_attention},
          {"delight", read_delight_attention},
          {.name = "transformer_xl", .read = read_transformer_xl_attention, .carries_state = true},
          {.name = "compressive", .read = read_compressive_attention, .carries_state = true},
          {"scored", read_scored_attention},
          {.name = "hard", .read = read_hard_attention, .draws_at_random = true},
      });
  return registry;
}

}  // namespace

const Registry<AttentionDefinition>& attention_types() { return attention_registry(); }

void register_attention(const AttentionDefinition& definition) {
  attention_registry().add(definition);
}

std::vector<at::Tensor> Attention::weights(const at::Tensor& /*x*/,
                                           const ForwardContext& /*context*/) {
  TORCH_CHECK(false, "this attention type has no attention weights to show");
}

void Attention::gate_keys(const ComputationGateMaker& /*make*/) {
  throw config::Error(
      "model.residual.gate: is not possible with this attention type, whose keys and values cannot "
      "be gated; full and window can");
}

bool scores_have_positions(const AttentionOptions& options) {
  return options.has_distance_bias || !options.position_modifiers.empty() ||
         options.distance_scores.has_value();
}

int64_t key_heads(const AttentionOptions& options) {
  return options.key_heads > 0 ? options.key_heads : options.heads;
}

int64_t head_dim(const AttentionOptions& options) {
  if (options.head_dim > 0) {
    return options.head_dim;
  }
  TORCH_CHECK(options.heads > 0 && options.dim % options.heads == 0, options.heads,
              " heads do not divide width ", options.dim);
  return options.dim / options.heads;
}

double score_scale(const AttentionOptions& options) {
  return options.scale != 0.0 ? options.scale
                              : 1.0 / std::sqrt(static_cast<double>(head_dim(options)));
}

void refuse_causal(const config::Section& section,
                   bool is_causal,
                   std::string_view type,
                   std::string_view reason) {
  if (is_causal) {
    section.fail("type", str_cat("found '", type, "' in a causal model: ", reason));
  }
}

}  // namespace weft::nn
