#pragma once

#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include "cli/command.h"

namespace weft::cli {

/// Writes vectors in order, block by block.
class EmbeddingsWriter {
 public:
  virtual ~EmbeddingsWriter() = default;
  virtual void write(const at::Tensor& vectors) = 0;  // (texts, E) fp32
  /// Called after the last block: puts the file in place.
  virtual void commit() = 0;
};

/// `--format`: jsonl (one line `{"embedding": [...]}` per text), tsv (tab-separated numbers) or
/// safetensors (one tensor `embeddings`, kept in memory until the end; needs a file). `--output`: a
/// file, or `-` for standard output. Throws UsageError.
std::unique_ptr<EmbeddingsWriter> make_embeddings_writer(const Arguments& arguments);

}  // namespace weft::cli
