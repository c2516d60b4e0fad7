#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "config/state.h"

namespace weft::config {

namespace {

/// Dotted paths without list indices, and the current name of the last component.
constexpr auto kRenamedKeys = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"data.augment.crop_area", "crop_scale"},
    {"data.augment.erase", "random_erase"},
    {"data.augment.mix_chance", "mix_prob"},
    {"data.augment.mix_epochs", "mix_off_epoch"},
    {"data.augment.rand_magnitude", "randaugment_magnitude"},
    {"data.augment.rand_operations", "randaugment_num_ops"},
    {"data.cache", "cache_dir"},
    {"data.document", "document_boundary"},
    {"data.evaluate.kind", "format"},
    {"data.evaluate.white", "max_pixel_value"},
    {"data.images.crop_share", "crop_pct"},
    {"data.images.deviation", "std"},
    {"data.images.keeps_shape", "native_resolution"},
    {"data.images.most_patches", "max_patches"},
    {"data.language_alpha", "sampling_alpha"},
    {"data.sentence", "sentence_boundary"},
    {"data.train.kind", "format"},
    {"data.train.white", "max_pixel_value"},
    {"data.workers", "num_workers"},
    {"model.attention.full_every", "global_attn_every_n_layers"},
    {"model.attention.head_width", "head_dim"},
    {"model.attention.scales_by_layer", "scale_attn_by_inverse_layer_idx"},
    {"model.channels", "num_channels"},
    {"model.deviation", "init_std"},
    {"model.distance", "max_distance"},
    {"model.embedding_deviation", "embed_init_std"},
    {"model.embedding_dim", "embedding_size"},
    {"model.feed_forward_dropout", "activation_dropout"},
    {"model.head_dropout", "classifier_dropout"},
    {"model.head_width", "head_dim"},
    {"model.hidden", "hidden_dim"},
    {"model.language_embeddings", "use_lang_emb"},
    {"model.patch", "patch_size"},
    {"model.path_dropout", "drop_path_rate"},
    {"model.pooling", "classifier_pooling"},
    {"model.position.local_theta", "local_rope_theta"},
    {"model.position.sinusoidal", "sinusoidal_init"},
    {"model.position.theta", "rope_theta"},
    {"model.query_key_value_bias", "qkv_bias"},
    {"model.relative_positions", "relative_attention"},
    {"model.relative_positions.buckets", "num_buckets"},
    {"model.relative_positions.distance", "max_distance"},
    {"model.scales_embedding", "scale_embedding"},
    {"model.scales_output", "scale_decoder_outputs"},
    {"model.segments", "type_vocab_size"},
    {"model.ties_embeddings", "tie_word_embeddings"},
    {"model.ties_source", "share_encoder_decoder_embeddings"},
    {"objective.attention_layers", "layer_map"},
    {"objective.attention_weight", "alpha_attention"},
    {"objective.generator.share", "size_ratio"},
    {"objective.hard_weight", "alpha_ce"},
    {"objective.hidden_fraction", "mask_ratio"},
    {"objective.hidden_unit", "mask_block_size"},
    {"objective.hidden_weight", "alpha_cos"},
    {"objective.hide_fraction", "token_mask_fraction"},
    {"objective.infill_mean", "poisson_lambda"},
    {"objective.label_pieces", "label_all_tokens"},
    {"objective.mask_share", "mask_token_prob"},
    {"objective.noise_fraction", "noise_density"},
    {"objective.noise_span_mean", "mean_noise_span_length"},
    {"objective.prefix", "source_prefix"},
    {"objective.random_share", "random_token_prob"},
    {"objective.soft_weight", "alpha_kd"},
    {"objective.span_longest", "max_span"},
    {"objective.span_mean", "mean_span"},
    {"objective.static_masks", "static_masking"},
    {"objective.task", "student_objective"},
    {"objective.teacher_answer", "distillation_type"},
    {"objective.weight", "discriminator_weight"},
    {"train.checkpoint_activations", "gradient_checkpointing"},
    {"train.lora.targets", "target_modules"},
    {"train.lora.train", "modules_to_save"},
    {"train.nonfinite", "nan_policy"},
    {"train.nonfinite.action", "action"},
    {"train.nonfinite.stop_after", "max_consecutive_skips"},
    {"train.optimizer.scales_by_parameter", "scale_parameter"},
    {"train.rollback.leaves_out", "skip"},
    {"train.rollback.most", "max_rollbacks"},
    {"train.schedule.floor", "min_lr_ratio"},
});

/// `data.train.0.kind` -> `data.train.kind`
std::string without_indices(std::string_view path) {
  std::vector<std::string> words;
  for (const auto word : split(path, '.')) {
    if (word.find_first_not_of("0123456789") != std::string_view::npos) {
      words.emplace_back(word);
    }
  }
  return join(words, ".");
}

}  // namespace

std::string_view renamed_key(std::string_view path) {
  const auto plain = without_indices(path);
  for (const auto& [before, now] : kRenamedKeys) {
    if (before == plain) {
      return now;
    }
  }
  return {};
}

}  // namespace weft::config
