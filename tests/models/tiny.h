#pragma once

#include <vector>

#include "models/config/family.h"
#include "models/config/options.h"
#include "models/model.h"
#include "support/context.h"

namespace weft::test {

/// All but the baselines, which have one head only.
inline std::vector<models::Family> transformers() {
  std::vector<models::Family> result;
  for (const auto& [word, family] : models::families()) {
    if (models::has_head(family, models::Head::kMaskedLm)) {
      result.push_back(family);
    }
  }
  return result;
}

/// The smallest model in which everything happens.
inline models::ModelOptions tiny_options(models::Family family = models::family_named("bert"),
                                         models::Head head = models::Head::kMaskedLm) {
  models::ModelOptions options;
  options.family = family;
  options.head = head;
  options.vocabulary = 20;
  options.dim = 8;
  options.layers = 2;
  options.heads = 2;
  options.width = 12;
  options.length = 10;
  const auto& capabilities = models::capabilities_of(family);
  options.type_vocab_size = !capabilities.has_segments                  ? 0
                            : capabilities.positions_start_after_pad_id ? 1
                                                                        : 2;
  options.pad_id = capabilities.positions_start_after_pad_id ? 1 : 0;
  options.embedding_size = capabilities.has_embedding_projection ? 4 : 0;
  if (capabilities.has_prediction_head) {  // ModernBERT
    options.norm_placement = models::NormPlacement::kPre;
    const auto defaults = models::family_defaults(family);
    options.rope = defaults.rope;
    options.window = defaults.window;
    options.biases = defaults.biases;
    options.is_gated = defaults.is_gated;
    options.uses_mean_pooling = defaults.uses_mean_pooling;
    options.activation_dropout = defaults.activation_dropout;
    options.init_cutoff = defaults.init_cutoff;
    options.head_activation = defaults.head_activation;
    options.window.size = 4;
    options.window.global_every = 2;
  }
  if (capabilities.has_stream_concatenation) {  // Reformer
    options.norm_placement = models::NormPlacement::kPre;
    options.tie_word_embeddings = false;
    options.reformer.local.length = 4;
  }
  if (capabilities.has_language_ids) {
    options.xlm.languages = {"de", "en"};
    options.xlm.embedding_init_std = 0.2;
    options.width = 4 * options.dim;
  }
  if (capabilities.has_layer_blocks) {
    options.funnel.block_sizes = {1, 1};
    options.funnel.decoder_layers = 1;
    options.type_vocab_size = 3;
  }
  options.init_std = 0.2;
  if (head == models::Head::kSequence || head == models::Head::kToken) {
    options.labels = {"no", "perhaps", "yes"};
  }
  return options;
}

}  // namespace weft::test
