#pragma once

#include <cstdint>

/// Division of a blocked product: its depth into parts, its result into tasks for the threads, and
/// a task's rows into blocks.
namespace weft::kernels {

/// Maximum rows per block of sums: whole tiles of AVX-512 and AMX (16).
inline constexpr int64_t kBlockRows = 48;

/// What the division depends on.
struct ProductSizes {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  bool left_is_transposed;
  int64_t operand_bytes;
  int64_t depth_step;  // parts of the depth are multiples of it
};

struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

/// Assignment of the result's blocks to tasks. It affects only the speed.
struct Grid {
  int64_t row_pieces;
  int64_t panel_pieces;
  int64_t tasks() const { return row_pieces * panel_pieces; }
};

/// Rows and panels of the result.
struct Task {
  Range rows;
  Range panels;
};

/// Splits the depth if its panels would not stay in L2; earlier if the left side is transposed,
/// since both sides are packed then. The split depends only on the depth.
int64_t depth_parts(const ProductSizes& sizes);
int64_t part_size(const ProductSizes& sizes);

/// The grid with the least estimated time.
Grid grid_of(const ProductSizes& sizes);
Task task_of(const ProductSizes& sizes, const Grid& grid, int64_t index);

int64_t row_blocks_of(const Task& task);
Range block_rows(const ProductSizes& sizes, const Task& task, int64_t block);

}  // namespace weft::kernels
