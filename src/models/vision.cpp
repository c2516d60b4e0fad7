#include "models/vision.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "formats/image.h"
#include "kernels/dropout.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/config/layer_types.h"
#include "models/stack_parts.h"
#include "nn/dropout_sites.h"

namespace weft::models {

namespace {

nn::PatchEmbeddingsOptions vision_embeddings_of(const ModelOptions& options) {
  const auto& vision = options.vision;
  return {.dim = options.dim,
          .patch_width = vision.patch_width(),
          .grid = vision.grid(),
          .has_class_token = vision.has_class_token,
          .has_distillation_token = vision.has_distillation_token,
          .has_mask_token = head_of(options).predicts_pixels,
          .dropout = options.dropout};
}

nn::StackOptions vision_stack_of(const ModelOptions& options) {
  const auto norm = norm_of(options, options.dim);
  const nn::BlockOptions layer{.attention = {.dim = options.dim,
                                             .heads = options.heads,
                                             .has_bias = options.vision.qkv_bias,
                                             .has_output_bias = true,
                                             .dropout = options.attention_dropout},
                               .feed_forward = {.dim = options.dim,
                                                .width = options.width,
                                                .activation = options.activation,
                                                .dropout = 0},
                               .norm = norm,
                               .norm_placement = NormPlacement::kPre,
                               .dropout = options.dropout};
  return with_layer_types({.layers = std::vector(static_cast<std::size_t>(options.layers), layer),
                           .stochastic_depth = options.stochastic_depth,
                           .norm = norm},
                          options.layer_types);
}

}  // namespace

std::vector<nn::PatchGrid> grids_of(const at::Tensor& ids,
                                    const kernels::Layout& layout,
                                    int64_t num_prefix_tokens) {
  TORCH_CHECK(ids.defined() && ids.dim() == 1 && ids.size(0) == layout.tokens(),
              "an image model expects one id for each of ", layout.tokens(), " tokens");
  const auto host = ids.cpu().contiguous();
  const auto* id = host.const_data_ptr<int64_t>();
  std::vector<nn::PatchGrid> grids;
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    const auto last = id[layout.offsets[static_cast<std::size_t>(b) + 1] - 1];
    grids.push_back({formats::patch_row(last) + 1, formats::patch_column(last) + 1});
    const auto count = layout.length(b) - num_prefix_tokens;
    TORCH_CHECK(last >= 0 && grids.back().rows * grids.back().columns == count, "an image of ",
                count, " patches does not form a grid of ", grids.back().rows, " x ",
                grids.back().columns);
  }
  return grids;
}

Vision::Vision(const ModelOptions& options) : options_(options) {
  TORCH_CHECK(has_head(options.family, options.head), word_of(options.family), " has no such head");
  embeddings_ = register_module("embeddings", nn::PatchEmbeddings(vision_embeddings_of(options)));
  layers_ = register_module("layers", nn::Stack(vision_stack_of(options)));
  const auto linear = [&](const char* name, int64_t outputs) {
    return register_module(name, nn::Linear(nn::LinearOptions{options.dim, outputs}));
  };
  const auto& head = head_of(options);
  if (has_pooler(options)) {
    pooler_ = register_module("pooler", nn::Pooler(options.dim));
  }
  if (head.predicts_pixels) {
    head_ = linear("head", options.vision.patch_width());
  }
  if (head.classifies_sequences) {
    head_ = linear("head", head_outputs(options));
  }
  if (head.classifiers > 1) {
    distillation_head_ = linear("distillation_head", head_outputs(options));
  }
}

at::Tensor Vision::embedded(const TextInput& input, const nn::ForwardContext& context) {
  nn::PatchInput patches{
      .patches = input.patches,
      .is_masked = {},
      .grids = grids_of(input.ids, context.layout, embeddings_->num_prefix_tokens())};
  if (input.types.defined()) {
    patches.is_masked = at::masked_select(input.types, input.ids >= 0).ne(0);
  }
  return embeddings_->forward(patches, context);
}

at::Tensor Vision::hidden(const TextInput& input, const nn::ForwardContext& context) {
  return layers_->forward(embedded(input, context), context);
}

at::Tensor Vision::selected_hidden_states(const TextInput& input,
                                          const nn::ForwardContext& context,
                                          const nn::RowSelection& rows) {
  return layers_->forward_selected(embedded(input, context), context, rows);
}

at::Tensor Vision::pooled(const at::Tensor& hidden, const nn::ForwardContext& context) {
  TORCH_CHECK(pooler_, architecture_of(options_), " has no pooler");
  return pooler_->forward(nn::first_tokens(hidden, context.layout));
}

std::vector<at::Tensor> Vision::logits_of(const at::Tensor& hidden,
                                          const nn::ForwardContext& context) {
  TORCH_CHECK(head_of(options_).classifies_sequences, architecture_of(options_),
              " does not classify images");
  const auto first = nn::first_tokens(hidden, context.layout);  // (B, D)
  const auto dropped =
      kernels::dropout(first, context.rate(options_.classifier_dropout.value_or(0)),
                       context.sequence_rng_key(nn::site_id(nn::DropoutSite::kHead)));
  const auto logits = head_->forward(dropped);
  if (!distillation_head_) {
    return {logits};
  }
  const auto second = context.layout.device_offsets.narrow(0, 0, context.layout.sequences()) + 1;
  return {logits, distillation_head_->forward(hidden.index_select(0, second))};
}

at::Tensor Vision::class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  const auto logits = logits_of(hidden, context);
  return logits.size() == 1 ? logits[0] : (logits[0] + logits[1]) / 2;
}

std::vector<at::Tensor> Vision::classifier_logits(const TextInput& input,
                                                  const nn::ForwardContext& context) {
  return distillation_head_ ? logits_of(hidden(input, context), context)
                            : std::vector<at::Tensor>{classify(input, context)};
}

at::Tensor Vision::classify(const TextInput& input, const nn::ForwardContext& context) {
  if (!head_of(options_).classifies_sequences || distillation_head_) {
    return class_logits(hidden(input, context), context);
  }
  const auto first =
      selected_hidden_states(input, context, nn::RowSelection::first_tokens(context));  // (B, D)
  return head_->forward(
      kernels::dropout(first, context.rate(options_.classifier_dropout.value_or(0)),
                       context.sequence_rng_key(nn::site_id(nn::DropoutSite::kHead))));
}

at::Tensor Vision::token_features(const at::Tensor& rows) {
  TORCH_CHECK(head_of(options_).predicts_pixels, architecture_of(options_),
              " does not predict pixels");
  return head_->forward(rows);
}

std::shared_ptr<Model> at_image_size(const Model& model, int64_t image_size) {
  const at::NoGradGuard guard;
  auto options = model.options();
  options.vision.image_size = image_size;
  auto made = std::make_shared<Vision>(options);
  const auto from = model.named_parameters();
  const auto grid = options.vision.grid();
  const int64_t own =
      (options.vision.has_class_token ? 1 : 0) + (options.vision.has_distillation_token ? 1 : 0);
  for (const auto& parameter : made->named_parameters()) {
    const auto& value = from[parameter.key()];
    auto target = parameter.value();
    target.copy_(parameter.key() == "embeddings.position"
                     ? nn::interpolate_positions(value, own, {grid, grid})
                     : value);
  }
  return made;
}

}  // namespace weft::models
