#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/model.h"
#include "nn/embedding/patch_embeddings.h"
#include "nn/linear.h"
#include "nn/pooling/pooling.h"
#include "nn/stack.h"

namespace weft::models {

/// The vision transformer (arXiv:2010.11929) with one of its heads. Ids and types of its input: see
/// formats/image.h.
class Vision : public Model {
 public:
  /// Parameters are allocated but not initialised.
  explicit Vision(const ModelOptions& options);

  const ModelOptions& options() const override { return options_; }
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;
  at::Tensor selected_hidden_states(const TextInput& input,
                                    const nn::ForwardContext& context,
                                    const nn::RowSelection& rows) override;
  at::Tensor pooled(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor classify(const TextInput& input, const nn::ForwardContext& context) override;
  std::vector<at::Tensor> classifier_logits(const TextInput& input,
                                            const nn::ForwardContext& context) override;
  /// Predicts the pixels of masked patches: (M, D) -> (M, C p p).
  at::Tensor token_features(const at::Tensor& rows) override;

 private:
  at::Tensor embedded(const TextInput& input, const nn::ForwardContext& context);
  std::vector<at::Tensor> logits_of(const at::Tensor& hidden, const nn::ForwardContext& context);

  ModelOptions options_;
  nn::PatchEmbeddings embeddings_{nullptr};
  nn::Stack layers_{nullptr};
  nn::Pooler pooler_{nullptr};  // of the bare model
  nn::Linear head_{nullptr};
  nn::Linear distillation_head_{nullptr};  // of a model distilled from a teacher
};

/// Patch grid of each image, from the ids of all tokens. Throws c10::Error where the patches of an
/// image after its prefix tokens do not form a grid.
std::vector<nn::PatchGrid> grids_of(const at::Tensor& ids,
                                    const kernels::Layout& layout,
                                    int64_t num_prefix_tokens);

/// The same model for another image size: its position table is interpolated.
std::shared_ptr<Model> at_image_size(const Model& model, int64_t image_size);

}  // namespace weft::models
