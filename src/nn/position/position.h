#pragma once

#include <cstdint>
#include <memory>

#include "config/section.h"
#include "kernels/layout.h"
#include "nn/module.h"

namespace weft::nn {

/// none: only in the attention, as a bias by distance, or nowhere.
enum class PositionType { kLearned, kRotary, kSinusoidal, kNone };

struct PositionOptions {
  PositionType type = PositionType::kLearned;
  int64_t dim = 0;     // D
  int64_t length = 0;  // most tokens of a sequence
  int64_t offset = 0;  // rows of the table before the one of the first token (RoBERTa: pad id + 1)
  bool is_interleaved = true;  // kSinusoidal: sine and cosine in turn, not all sines first
};

/// Rows to add to the word embeddings; both undefined where a kind of position enters elsewhere.
struct PositionRows {
  at::Tensor table;  // (P, D)
  at::Tensor rows;   // (N) int64
};

/// How a model knows where a token stands.
class Position : public Module {
 public:
  virtual PositionRows rows(const kernels::Layout& layout) = 0;
};

std::shared_ptr<Position> make_position(const PositionOptions& options);

/// Words of `position.type`.
const config::Choices<PositionType>& position_types();

}  // namespace weft::nn
