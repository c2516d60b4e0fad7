#pragma once

#include <cstdint>
#include <memory>

#include <torch/nn/module.h>

#include "config/section.h"
#include "kernels/layout.h"

namespace weft::nn {

/// kNone: positions enter only as a bias in the attention, or not at all.
enum class PositionType { kLearned, kRotary, kSinusoidal, kNone };

struct PositionOptions {
  PositionType type = PositionType::kLearned;
  int64_t dim = 0;     // D
  int64_t length = 0;  // maximum sequence length
  int64_t offset = 0;  // rows of the table before that of the first token (RoBERTa: pad id + 1)
  bool is_interleaved = true;  // kSinusoidal: sines and cosines alternate; else all sines first
};

/// Rows to add to the word embeddings; both undefined if positions enter elsewhere.
struct PositionRows {
  at::Tensor table;  // (P, D)
  at::Tensor rows;   // (N) int64
};

/// Absolute position embeddings, if the model has them.
class Position : public torch::nn::Module {
 public:
  virtual PositionRows rows(const kernels::Layout& layout) = 0;
};

std::shared_ptr<Position> make_position(const PositionOptions& options);

/// Config values of `position.type`.
const config::Choices<PositionType>& position_types();

}  // namespace weft::nn
