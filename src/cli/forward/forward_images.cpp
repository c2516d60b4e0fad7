#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/string_util.h"
#include "cli/forward/forward.h"
#include "data/batch.h"
#include "formats/image.h"
#include "kernels/cross_entropy.h"
#include "models/config/heads.h"
#include "models/weights/tensors.h"

namespace weft::cli {

namespace {

using Outputs = std::map<std::string, at::Tensor>;

int64_t own_tokens(const models::VisionOptions& vision) {
  return (vision.has_class_token ? 1 : 0) + (vision.has_distillation_token ? 1 : 0);
}

/// Ids of all tokens of `images` images of one size.
at::Tensor ids_of(int64_t images,
                  int64_t rows,
                  int64_t columns,
                  const models::VisionOptions& vision) {
  std::vector<int64_t> ids;
  if (vision.has_class_token) {
    ids.push_back(formats::kClassToken);
  }
  if (vision.has_distillation_token) {
    ids.push_back(formats::kDistillationToken);
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      ids.push_back(formats::patch_id(row, column));
    }
  }
  return at::tensor(ids, at::kLong).repeat({images});
}

/// One forward pass, and the inputs of its head.
class ImagePassage {
 public:
  ImagePassage(models::Model& model, const ForwardInputs& inputs)
      : model_(model), inputs_(inputs), pixels_(inputs.get("pixel_values")) {
    const auto& vision = model.options().vision;
    images_ = pixels_.size(0);
    const int64_t rows = pixels_.size(2) / vision.patch_size;
    const int64_t columns = pixels_.size(3) / vision.patch_size;
    own_ = own_tokens(vision);
    tokens_ = own_ + rows * columns;
    std::vector<int64_t> offsets;
    for (int64_t b = 0; b <= images_; ++b) {
      offsets.push_back(b * tokens_);
    }
    context_.layout = kernels::Layout::from_offsets(std::move(offsets), pixels_.device());
    input_ = {.ids = ids_of(images_, rows, columns, vision),
              .patches = to_patches(pixels_, vision.patch_size)};
    if (inputs.has("bool_masked_pos")) {
      const auto hidden = inputs.get("bool_masked_pos").view({images_, -1});  // (B, patches)
      input_.types = at::constant_pad_nd(hidden, {own_, 0}).flatten();
    }
    hidden_ = model.hidden(input_, context_);  // (N, D)
  }

  Outputs outputs() {
    const auto& head = models::head_of(model_.options());
    if (head.is_bare) {
      return {{"last_hidden_state", hidden_.view({images_, tokens_, -1})},
              {"pooler_output", model_.pooled(hidden_, context_)}};
    }
    return head.predicts_pixels ? pixels() : classes();
  }

 private:
  Outputs classes() {
    const auto logits = model_.class_logits(hidden_, context_);
    Outputs outputs = {{"logits", logits}};
    if (inputs_.has("labels")) {
      const auto labels = inputs_.get("labels");
      outputs["loss"] =
          kernels::cross_entropy_sum(logits, labels) / (labels != data::kIgnoreIndex).sum();
    }
    return outputs;
  }

  /// As the loss in transformers, whose denominator is never zero.
  Outputs pixels() {
    constexpr double kTiny = 1e-5;
    const auto& vision = model_.options().vision;
    const auto is_patch = input_.ids >= 0;
    const auto rows = is_patch.nonzero().squeeze(1);
    const auto predictions = model_.token_features(hidden_.index_select(0, rows));  // (P, C p p)
    Outputs outputs = {
        {"reconstruction", from_patches(predictions, pixels_.sizes(), vision.patch_size)}};
    if (input_.types.defined()) {
      const auto counts = input_.types.masked_select(is_patch).ne(0).to(at::kFloat).unsqueeze(1);
      const auto area = static_cast<double>(vision.patch_size * vision.patch_size);
      outputs["loss"] = ((input_.patches - predictions).abs() * counts).sum() /
                        (counts.sum() * area + kTiny) / vision.channels;
    }
    return outputs;
  }

  models::Model& model_;
  const ForwardInputs& inputs_;
  at::Tensor pixels_;  // (B, C, H, W)
  int64_t images_ = 0;
  int64_t own_ = 0;
  int64_t tokens_ = 0;  // per image
  nn::ForwardContext context_;
  models::TextInput input_;
  at::Tensor hidden_;  // (N, D)
};

}  // namespace

at::Tensor to_patches(const at::Tensor& pixels, int64_t patch) {
  const int64_t rows = pixels.size(2) / patch;
  const int64_t columns = pixels.size(3) / patch;
  return pixels.reshape({pixels.size(0), pixels.size(1), rows, patch, columns, patch})
      .permute({0, 2, 4, 1, 3, 5})
      .reshape({-1, pixels.size(1) * patch * patch})
      .contiguous();
}

at::Tensor from_patches(const at::Tensor& patches, const at::IntArrayRef& shape, int64_t patch) {
  return patches.reshape({shape[0], shape[2] / patch, shape[3] / patch, shape[1], patch, patch})
      .permute({0, 3, 1, 4, 2, 5})
      .reshape(shape);
}

void check_image_inputs(const ForwardInputs& inputs, const models::ModelOptions& options) {
  const auto& vision = options.vision;
  if (!inputs.has("pixel_values")) {
    inputs.fail("pixel_values", "missing, but required");
  }
  const auto pixels = inputs.get("pixel_values");
  const bool is_fine =
      pixels.dim() == 4 && pixels.numel() > 0 && pixels.size(1) == vision.channels &&
      pixels.size(2) % vision.patch_size == 0 && pixels.size(3) % vision.patch_size == 0;
  if (!is_fine) {
    inputs.fail(
        "pixel_values",
        str_cat("found shape ", models::shape_text(pixels.sizes().vec()), ", expected (images, ",
                vision.channels, ", height, width), where height and width are multiples of ",
                vision.patch_size));
  }
  if (inputs.has("labels")) {
    inputs.check_shape("labels", {pixels.size(0)});
    inputs.check_range("labels", models::head_outputs(options), true);
  }
  if (inputs.has("bool_masked_pos")) {
    inputs.check_shape("bool_masked_pos",
                       {pixels.size(0),
                        pixels.size(2) / vision.patch_size * (pixels.size(3) / vision.patch_size)});
    inputs.check_range("bool_masked_pos", 2);
  }
}

Outputs image_forward_pass(models::Model& model, const ForwardInputs& inputs) {
  return ImagePassage(model, inputs).outputs();
}

}  // namespace weft::cli
