#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/model.h"
#include "nn/linear.h"
#include "nn/patch_embeddings.h"
#include "nn/pooler.h"
#include "nn/stack.h"

namespace weft::models {

/// The vision transformer (arXiv:2010.11929) with one of its heads. Ids and types of its input as
/// in formats/image_patches.h.
class Vision : public Model {
 public:
  /// Parameters are allocated, not set.
  explicit Vision(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  at::Tensor hidden(const TextInput& input, const nn::Pass& pass) override;
  at::Tensor hidden_rows(const TextInput& input,
                         const nn::Pass& pass,
                         const nn::ChosenRows& rows) override;
  at::Tensor pooled(const at::Tensor& hidden, const nn::Pass& pass) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::Pass& pass) override;
  at::Tensor classify(const TextInput& input, const nn::Pass& pass) override;
  std::vector<at::Tensor> classifiers(const TextInput& input, const nn::Pass& pass) override;
  /// Of hidden patches their pixels: (M, D) -> (M, C p p).
  at::Tensor token_features(const at::Tensor& rows) override;

 private:
  at::Tensor embedded(const TextInput& input, const nn::Pass& pass);
  std::vector<at::Tensor> logits_of(const at::Tensor& hidden, const nn::Pass& pass);

  ModelOptions options_;
  std::shared_ptr<nn::PatchEmbeddings> embeddings_;
  std::shared_ptr<nn::Stack> layers_;
  std::shared_ptr<nn::Pooler> pooler_;  // of the bare model
  std::shared_ptr<nn::Linear> head_;
  std::shared_ptr<nn::Linear> distillation_head_;  // of a model that has learnt from a teacher
};

/// The patches of each image, from the ids of all tokens. Throws c10::Error where an image is no
/// grid behind the model's own tokens.
std::vector<nn::PatchGrid> grids_of(const at::Tensor& ids,
                                    const kernels::Layout& layout,
                                    int64_t own_tokens);

/// The same model for images of another size: its table of positions is interpolated.
std::shared_ptr<Model> at_image_size(const Model& model, int64_t image_size);

}  // namespace weft::models
