#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "formats/safetensors.h"
#include "models/config/options.h"

namespace weft::models {

/// Part of a model that a tensor belongs to: heads may be replaced, the backbone may not.
enum class Part { kBackbone, kPooler, kHead };

/// File of a model directory for tensors that the model of the same `model_type` in transformers
/// does not have, where it does not find them.
inline constexpr auto kSeparateTensors = "weft.safetensors";

/// A tensor of a model file, and the parameter rows that it contains.
struct StoredTensor {
  std::string parameter;       // our registered name
  std::string name;            // as the latest transformers writes it
  std::vector<int64_t> shape;  // of the stored tensor
  int64_t first_row = 0;       // of the parameter
  Part part = Part::kBackbone;
  std::string duplicate_name = "";  // second name that it is also stored under; empty: none
  bool is_transposed = false;       // (inputs, outputs), as GPT-2 stores its matrices
  bool is_optional = false;         // may be missing; then keeps its initial value
  std::optional<formats::DType> dtype = {};  // of a buffer, which keeps it
  bool is_separate = false;       // in kSeparateTensors: transformers' model does not have it
  int64_t interleaved_heads = 0;  // GPT-NeoX: rows ordered by head, query, key and value of each

  /// Rows of the parameter. The remaining dimensions may differ from the parameter's, the number of
  /// elements may not.
  int64_t rows() const { return is_transposed ? shape[1] : shape[0]; }
  int64_t elements() const;
};

/// All tensors of a model's file, in order of computation; those of layer types that the family
/// does not have come last. A pure function of the options.
std::vector<StoredTensor> weight_map(const ModelOptions& options);

/// The module in the name of a parameter or stored tensor: `head.output` of `head.output.weight`;
/// empty: the model itself.
std::string module_of(const std::string& name);

/// Elements of the parameters of each top-level module, in order of computation.
std::vector<std::pair<std::string, int64_t>> module_sizes(const ModelOptions& options);

/// Names of a tensor in files of other versions: with or without the backbone's prefix, gamma and
/// beta.
std::vector<std::string> name_aliases(const StoredTensor& tensor, const ModelOptions& options);

/// Whether an unexpected tensor is a buffer or a copy of a tied matrix, as many files contain.
bool is_ignorable(std::string_view name, const ModelOptions& options);

/// View of the parameter's rows that a stored tensor contains.
at::Tensor rows_of(const at::Tensor& parameter, const StoredTensor& tensor);

/// Converts rows stored head by head, with query, key and value of each
/// (StoredTensor::interleaved_heads), to our order, all queries first, and back. heads 0: no
/// change.
at::Tensor deinterleave_heads(const at::Tensor& stored, int64_t heads);
at::Tensor interleave_heads(const at::Tensor& rows, int64_t heads);

/// Converts a stored tensor to the order and shape of those rows, and back.
at::Tensor from_file_layout(const at::Tensor& stored, const StoredTensor& tensor);
at::Tensor to_file_layout(const at::Tensor& rows, const StoredTensor& tensor);

}  // namespace weft::models
