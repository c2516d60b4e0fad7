#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/config/options.h"

namespace weft::models {

/// Which part of a model a tensor belongs to: heads may be exchanged, the backbone may not.
enum class Part { kBackbone, kPooler, kHead };

/// A tensor of a model file, and the rows of our parameter that it holds.
struct StoredTensor {
  std::string parameter;       // our registered name
  std::string name;            // as the newest transformers writes it
  std::vector<int64_t> shape;  // of the stored tensor
  int64_t first_row = 0;       // of the parameter
  Part part = Part::kBackbone;
  std::string copy = "";          // a second name that it is stored under too; empty: none
  bool is_transposed = false;     // (inputs, outputs), as GPT-2 stores its matrices
  bool may_be_missing = false;    // from files, where it keeps what it begins with
  int64_t interleaved_heads = 0;  // GPT-NeoX: rows go head by head, query, key and value of each

  /// Rows of the parameter. The rest of the shape may differ from the parameter's, not the number
  /// of elements.
  int64_t rows() const { return is_transposed ? shape[1] : shape[0]; }
  int64_t elements() const;
};

/// All tensors of a model's file, in the order of computation. A pure function of the options:
/// nothing is allocated.
std::vector<StoredTensor> stored_tensors(const ModelOptions& options);

/// Names that one tensor may have in files of other times: without or with the backbone's prefix,
/// gamma and beta.
std::vector<std::string> spellings(const StoredTensor& tensor, const ModelOptions& options);

/// Whether a tensor that no parameter asks for is a buffer or a copy of a tied matrix, found in
/// many files.
bool is_harmless(std::string_view name, const ModelOptions& options);

}  // namespace weft::models
