#pragma once

#include <cstdint>
#include <vector>

#include "nn/position/position.h"

namespace weft::nn {

/// Positions in a grid, row by row: the vector of a position is that of its row and that of its
/// column, one behind the other (arXiv:1912.12180; in Reformer, arXiv:2001.04451, section 5).
struct AxialOptions {
  std::vector<int64_t> shape;  // rows and columns
  std::vector<int64_t> dims;   // widths of their vectors, which add up to that of the embeddings

  bool operator==(const AxialOptions&) const = default;
};

PositionMaker axial_position(const AxialOptions& options);
/// Type `axial`.
PositionMaker read_axial_position(config::Section& section);

}  // namespace weft::nn
