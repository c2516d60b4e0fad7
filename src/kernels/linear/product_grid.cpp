#include "kernels/linear/product_grid.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/cpu/product_types.h"
#include "kernels/fused.h"
#include "kernels/parallel.h"

namespace weft::kernels {
namespace {

constexpr int64_t kTileRows = 6;       // of AVX-512
constexpr int64_t kDepthBytes = 6144;  // maximum bytes of a row processed at once
constexpr int64_t kTransposedDepthBytes = 1024;
constexpr int64_t kPanelBytes = 448 * 1024;  // of the panels of one task, so that they stay in L2
constexpr int64_t kKeptBlocks = 16;          // maximum row blocks of a task that keeps its sums

int64_t panels_of(const ProductSizes& sizes) {
  return divide_up(sizes.columns, cpu::kPanelColumns);
}

/// Range `index` of `pieces` nearly equal ranges.
Range piece(int64_t items, int64_t pieces, int64_t index) {
  return {items * index / pieces, items * (index + 1) / pieces};
}

/// Same for a range, split at multiples of `step` from its start.
Range piece(const Range& range, int64_t step, int64_t pieces, int64_t index) {
  const auto steps = piece(divide_up(range.size(), step), pieces, index);
  return {range.begin + steps.begin * step, std::min(range.end, range.begin + steps.end * step)};
}

/// Granularity of row splits: tiles, or whole cache lines if the rows are transposed.
int64_t row_step(const ProductSizes& sizes) {
  return sizes.left_is_transposed ? kBlockRows : kTileRows;
}

/// Estimated time of a grid, in units of one block product.
double cost_of(const ProductSizes& sizes, const Grid& grid) {
  constexpr double kPackRight = 0.3;  // per panel
  constexpr double kPackLeft = 0.3;   // per row block
  const double blocks =
      static_cast<double>(task_of(sizes, grid, grid.row_pieces - 1).rows.size()) / kBlockRows;
  const auto panels = static_cast<double>(divide_up(panels_of(sizes), grid.panel_pieces));
  const int64_t rounds = divide_up(grid.tasks(), parallel_threads());
  return static_cast<double>(rounds) * (blocks * panels + kPackRight * panels +
                                        (sizes.left_is_transposed ? kPackLeft * blocks : 0.0));
}

}  // namespace

int64_t depth_parts(const ProductSizes& sizes) {
  return divide_up(sizes.depth * sizes.operand_bytes,
                   sizes.left_is_transposed ? kTransposedDepthBytes : kDepthBytes);
}

int64_t part_size(const ProductSizes& sizes) {
  const int64_t parts = depth_parts(sizes);
  return parts == 1 && !sizes.left_is_transposed
             ? sizes.depth
             : round_up(divide_up(sizes.depth, parts), sizes.depth_step);
}

Grid grid_of(const ProductSizes& sizes) {
  const int64_t threads = parallel_threads();
  const int64_t blocks = divide_up(sizes.rows, kBlockRows);
  const int64_t panels = panels_of(sizes);
  const int64_t most_panels = std::max<int64_t>(
      1, kPanelBytes / (cpu::kPanelColumns * part_size(sizes) * sizes.operand_bytes));
  const int64_t most_blocks = depth_parts(sizes) > 1 ? kKeptBlocks : blocks;
  const int64_t least = divide_up(panels, most_panels);
  Grid best{};
  double least_cost = std::numeric_limits<double>::infinity();
  for (int64_t pieces = least; pieces <= std::min(panels, least + threads); ++pieces) {
    const int64_t rows = std::max(divide_up(blocks, most_blocks), divide_up(threads, pieces));
    const int64_t even = threads / std::gcd(threads, pieces);  // equal number of tasks per thread
    for (const int64_t row_pieces : {rows, round_up(rows, even)}) {
      const Grid grid{.row_pieces = std::min(blocks, row_pieces), .panel_pieces = pieces};
      const double cost = cost_of(sizes, grid);
      if (cost < least_cost) {
        best = grid;
        least_cost = cost;
      }
    }
  }
  return best;
}

Task task_of(const ProductSizes& sizes, const Grid& grid, int64_t index) {
  return {.rows = piece({0, sizes.rows}, row_step(sizes), grid.row_pieces, index % grid.row_pieces),
          .panels = piece(panels_of(sizes), grid.panel_pieces, index / grid.row_pieces)};
}

int64_t row_blocks_of(const Task& task) { return divide_up(task.rows.size(), kBlockRows); }

Range block_rows(const ProductSizes& sizes, const Task& task, int64_t block) {
  return piece(task.rows, row_step(sizes), row_blocks_of(task), block);
}

}  // namespace weft::kernels
