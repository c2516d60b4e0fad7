#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "formats/safetensors.h"
#include "models/config/options.h"

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

}  // namespace weft::cli
