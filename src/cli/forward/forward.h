#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "formats/safetensors.h"
#include "models/config/options.h"
#include "models/model.h"

namespace weft::cli {

/// Input tensors of `weft forward`, under transformers' names, checked against the model: names,
/// dtypes, shapes, ids in range. All errors are formats::Error `FILE: name: what was found, what is
/// allowed`.
class ForwardInputs {
 public:
  ForwardInputs(const std::string& path, const models::ModelOptions& options);
  /// Takes tensors created by the program.
  ForwardInputs(std::map<std::string, at::Tensor> tensors, const models::ModelOptions& options);

  const std::string& path() const { return path_; }
  bool has(const std::string& name) const { return tensors_.contains(name); }
  /// Returns an undefined tensor if there is none.
  at::Tensor get(const std::string& name) const;
  int64_t rows() const { return rows_; }        // B
  int64_t columns() const { return columns_; }  // L

  [[noreturn]] void fail(const std::string& name, const std::string& message) const;
  /// Checks that sequences of `length` tokens are not longer than the model's maximum.
  void check_length(const std::string& name,
                    int64_t length,
                    const models::ModelOptions& options) const;
  void check_shape(const std::string& name, const std::vector<int64_t>& shape) const;
  /// Checks for integers in [0, end); with `ignores` also -100.
  void check_range(const std::string& name, int64_t end, bool ignores = false) const;

 private:
  void read(const models::ModelOptions& options);
  void check(const models::ModelOptions& options);
  void check_labels(const models::ModelOptions& options) const;

  std::string path_;
  std::map<std::string, at::Tensor> tensors_;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
};

/// Outputs by name of transformers' model of the same architecture, with `loss` if there are
/// targets. The loss is computed as in transformers; the forward pass is that of training: packed.
std::map<std::string, at::Tensor> forward_pass(models::Model& model, const ForwardInputs& inputs);

/// Checks the inputs of an encoder-decoder other than the source: decoder_input_ids with their
/// mask, and labels.
void check_seq2seq_inputs(const ForwardInputs& inputs, const models::ModelOptions& options);

/// One forward pass of an encoder-decoder: `logits` (B, T, V), `loss` if there are labels. Without
/// decoder_input_ids the labels are shifted, as in transformers, up to the last one of each row
/// that is not -100.
std::map<std::string, at::Tensor> seq2seq_forward_pass(models::Model& model,
                                                       const ForwardInputs& inputs);

/// Checks pixel_values (B, C, H, W) and the related inputs; sizes other than the model's are
/// allowed if they are whole patches.
void check_image_inputs(const ForwardInputs& inputs, const models::ModelOptions& options);

/// One forward pass of an image model: `logits`; `last_hidden_state` and `pooler_output`;
/// `reconstruction` (B, C, H, W); `loss` if there are labels or hidden patches.
std::map<std::string, at::Tensor> image_forward_pass(models::Model& model,
                                                     const ForwardInputs& inputs);

/// (B, C, H, W) -> (B * patches, C p p) and back; `rows` patches from above.
at::Tensor to_patches(const at::Tensor& pixels, int64_t patch);
at::Tensor from_patches(const at::Tensor& patches, const at::IntArrayRef& shape, int64_t patch);

}  // namespace weft::cli
