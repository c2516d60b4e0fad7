#pragma once

#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

namespace weft::cli {

/// Where vectors go, in order, block by block.
class VectorWriter {
 public:
  virtual ~VectorWriter() = default;
  virtual void write(const at::Tensor& vectors) = 0;  // (texts, E) fp32
  /// After the last block: the file appears.
  virtual void commit() = 0;
};

/// `format`: jsonl (a line `{"embedding": [...]}` a text), tsv (numbers between tabs) or
/// safetensors (one tensor `embeddings`, held in memory until the end; needs a file). `path`: a
/// file, or `-` for standard output. Throws UsageError.
std::unique_ptr<VectorWriter> make_vector_writer(const std::string& format,
                                                 const std::string& path);

}  // namespace weft::cli
