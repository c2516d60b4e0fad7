#include <string>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/families/funnel_kind.h"
#include "models/funnel_encoder.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models::funnel_family {

namespace {

void add_funnel_layer(WeightMapBuilder& builder,
                      const ModelOptions& options,
                      const std::string& parameter,
                      const std::string& hf_name,
                      Part part) {
  const auto dim = options.dim;
  const auto inner = query_width(options);
  const auto attention = parameter + "attention.";
  const auto linear = [&](const std::string& own, const char* name,
                          WeightMapBuilder::Linear shape) {
    shape.part = part;
    builder.linear(own, hf_name + name, shape);
  };
  const auto tensor = [&](const char* own, const char* name, std::vector<int64_t> shape) {
    builder.result.push_back({.parameter = str_cat(attention, "core.relative.", own),
                              .name = str_cat(hf_name, "attention.", name),
                              .shape = std::move(shape),
                              .part = part});
  };
  linear(attention + "query", "attention.q_head",
         {.inputs = dim, .outputs = inner, .has_bias = false});
  linear(attention + "key_value", "attention.k_head", {.inputs = dim, .outputs = inner});
  linear(attention + "key_value", "attention.v_head",
         {.inputs = dim, .outputs = inner, .first_row = inner});
  linear(attention + "output", "attention.post_proj", {.inputs = inner, .outputs = dim});
  const std::vector<int64_t> by_head = {options.heads, head_dim(options)};
  tensor("content_bias", "r_w_bias", by_head);
  tensor("position_bias", "r_r_bias", by_head);
  tensor("projection", "r_kernel", {dim, options.heads, head_dim(options)});
  tensor("type_bias", "r_s_bias", by_head);
  tensor("types", "seg_embed", {2, options.heads, head_dim(options)});
  builder.norm(parameter + "attention_norm", hf_name + "attention.layer_norm", dim, true, part);
  linear(parameter + "feed_forward.up", "ffn.linear_1", {.inputs = dim, .outputs = options.width});
  linear(parameter + "feed_forward.down", "ffn.linear_2",
         {.inputs = options.width, .outputs = dim});
  builder.norm(parameter + "feed_forward_norm", hf_name + "ffn.layer_norm", dim, true, part);
}

void add_funnel_head(WeightMapBuilder& builder, const ModelOptions& options) {
  const auto& head = head_of(options);
  const auto linear = [&](const char* own, const char* name, int64_t outputs) {
    builder.linear(own, name, {.inputs = options.dim, .outputs = outputs, .part = Part::kHead});
  };
  if (head.predicts_tokens) {
    if (!options.tie_word_embeddings) {
      builder.table("head.decoder", "lm_head", {options.vocabulary, options.dim}, Part::kHead);
    }
    builder.result.push_back({.parameter = "head.bias",
                              .name = "lm_head.bias",
                              .shape = {options.vocabulary},
                              .part = Part::kHead});
  } else if (head.classifies_sequences) {
    linear("head.dense", "classifier.linear_hidden", options.dim);
    linear("head.output", "classifier.linear_out", head_outputs(options));
  } else if (head.detects_replaced_tokens) {
    linear("head.dense", "discriminator_predictions.dense", options.dim);
    linear("head.output", "discriminator_predictions.dense_prediction", head_outputs(options));
  } else if (head.has_token_logits()) {
    linear("head.output", head.predicts_spans ? "qa_outputs" : "classifier", head_outputs(options));
  }
}

}  // namespace

std::vector<StoredTensor> tensors(const ModelOptions& options) {
  const auto& own = options.funnel;
  const std::string prefix = head_of(options).is_bare ? "" : "funnel.";
  WeightMapBuilder builder;
  builder.table("embeddings.word", prefix + "embeddings.word_embeddings",
                {options.vocabulary, options.dim});
  builder.norm("embeddings.norm", prefix + "embeddings.layer_norm", options.dim);
  int64_t index = 0;
  const auto layer = [&](const std::string& hf_name, Part part) {
    add_funnel_layer(builder, options, str_cat("layers.", index++, "."), prefix + hf_name, part);
  };
  for (std::size_t block = 0; block < own.block_sizes.size(); ++block) {
    for (int64_t i = 0; i < own.block_sizes[block]; ++i) {
      layer(str_cat("encoder.blocks.", block, ".", i, "."), Part::kBackbone);
    }
  }
  for (int64_t i = 0; has_funnel_decoder(options) && i < own.decoder_layers; ++i) {
    layer(str_cat("decoder.layers.", i, "."), Part::kPooler);  // models without it lack it
  }
  add_funnel_head(builder, options);
  return builder.result;
}

}  // namespace weft::models::funnel_family
