#include "kernels/blocked_product.h"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>

#include <ATen/Context.h>
#include <ATen/native/CPUBlas.h>

#include "kernels/cpu/packing.h"
#include "kernels/parallel.h"

namespace weft::kernels {
namespace {

using cpu::Bf16;

constexpr int64_t kRows = 48;     // of a block of sums: whole tiles of AVX-512 (6) and AMX (16)
constexpr int64_t kColumns = 64;  // and of a panel of the right side
constexpr int64_t kDepth = 3072;  // at most at once
constexpr int64_t kTransposedDepth = 512;
constexpr int64_t kDepthStep = 32;
constexpr int64_t kColumnStep = 16;
constexpr int64_t kPanelBytes = 448 * 1024;  // of the panels of one task, which stay in L2
constexpr int64_t kLeftBlocks = 4;           // rows of the left side that are packed at once
constexpr int64_t kKeptBlocks = 16;          // rows of one task that keeps its sums

int64_t divide_up(int64_t x, int64_t by) { return (x + by - 1) / by; }
int64_t round_up(int64_t x, int64_t to) { return divide_up(x, to) * to; }

/// Memory of one thread that lasts: a product takes none from the allocator.
template <class T>
class Workspace {
 public:
  T* take(int64_t size) {
    if (size > size_) {
      memory_.reset(static_cast<T*>(::operator new(bytes(size), kAlignment)));
      size_ = size;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(T* memory) const { ::operator delete(memory, kAlignment); }
  };
  static std::size_t bytes(int64_t size) { return static_cast<std::size_t>(size) * sizeof(T); }

  std::unique_ptr<T, Free> memory_;
  int64_t size_ = 0;
};

struct Workspaces {
  Workspace<Bf16> left;
  Workspace<Bf16> right;
  Workspace<float> sums;
};

Workspaces& workspaces() {
  static thread_local Workspaces spaces;
  return spaces;
}

struct Range {
  int64_t begin;
  int64_t end;
  int64_t size() const { return end - begin; }
};

/// Piece `index` of `pieces` nearly equal ones.
Range piece(int64_t items, int64_t pieces, int64_t index) {
  return {items * index / pieces, items * (index + 1) / pieces};
}

/// The depth is cut where its panels would not stay in L2, with a transposed left side earlier, for
/// both sides are packed there. The cut depends on the depth alone.
int64_t depth_parts(const BlockedProduct& p) {
  return divide_up(p.depth, p.a_is_transposed ? kTransposedDepth : kDepth);
}

int64_t part_size(const BlockedProduct& p) {
  const int64_t parts = depth_parts(p);
  return parts == 1 && !p.a_is_transposed ? p.depth
                                          : round_up(divide_up(p.depth, parts), kDepthStep);
}

/// How the blocks of the result are shared out: which task has which decides about speed alone.
struct Grid {
  int64_t row_pieces;
  int64_t panel_pieces;
};

/// The time of a grid, in products of one block.
double cost_of(const BlockedProduct& p, const Grid& grid) {
  constexpr double kPackRight = 0.3;  // a panel
  constexpr double kPackLeft = 0.3;   // rows of a block
  const auto blocks = static_cast<double>(divide_up(divide_up(p.rows, kRows), grid.row_pieces));
  const auto panels =
      static_cast<double>(divide_up(divide_up(p.columns, kColumns), grid.panel_pieces));
  const int64_t rounds = divide_up(grid.row_pieces * grid.panel_pieces, parallel_threads());
  return static_cast<double>(rounds) *
         (blocks * panels + kPackRight * panels + (p.a_is_transposed ? kPackLeft * blocks : 0.0));
}

Grid grid_of(const BlockedProduct& p) {
  const int64_t threads = parallel_threads();
  const int64_t blocks = divide_up(p.rows, kRows);
  const int64_t panels = divide_up(p.columns, kColumns);
  const int64_t most_panels = std::max<int64_t>(1, kPanelBytes / (kColumns * part_size(p) * 2));
  const int64_t most_blocks = depth_parts(p) > 1 ? kKeptBlocks : blocks;
  const int64_t least = divide_up(panels, most_panels);
  Grid best{.row_pieces = 0, .panel_pieces = 0};
  for (int64_t pieces = least; pieces <= std::min(panels, least + threads); ++pieces) {
    const int64_t rows = std::max(divide_up(blocks, most_blocks), divide_up(threads, pieces));
    const Grid grid{.row_pieces = std::min(blocks, rows), .panel_pieces = pieces};
    if (best.row_pieces == 0 || cost_of(p, grid) < cost_of(p, best)) {
      best = grid;
    }
  }
  return best;
}

struct Task {
  Range blocks;
  Range panels;
};

Task task_of(const BlockedProduct& p, const Grid& grid, int64_t index) {
  return {
      .blocks = piece(divide_up(p.rows, kRows), grid.row_pieces, index % grid.row_pieces),
      .panels = piece(divide_up(p.columns, kColumns), grid.panel_pieces, index / grid.row_pieces)};
}

Range rows_of(const BlockedProduct& p, int64_t block) {
  return {block * kRows, std::min(p.rows, (block + 1) * kRows)};
}

Range columns_of(const BlockedProduct& p, int64_t panel) {
  return {panel * kColumns, std::min(p.columns, (panel + 1) * kColumns)};
}

int64_t width_of(const BlockedProduct& p, int64_t panel) {
  return round_up(columns_of(p, panel).size(), kColumnStep);
}

/// Some of the depth; `padded` is what is multiplied.
struct Depth {
  int64_t begin;
  int64_t size;
  int64_t padded;
};

/// One panel of the right side -> pairs (padded / 2, width, 2).
void pack_panel(const BlockedProduct& p, const Depth& depth, int64_t panel, Bf16* out) {
  const auto columns = columns_of(p, panel);
  const int64_t width = width_of(p, panel);
  if (p.b_is_transposed) {
    cpu::pack_columns({.in = p.b + columns.begin * p.b_stride + depth.begin,
                       .stride = p.b_stride,
                       .rows = columns.size(),
                       .columns = depth.size,
                       .out = out,
                       .out_rows = width,
                       .out_columns = depth.padded});
  } else {
    cpu::pack_rows({.in = p.b + depth.begin * p.b_stride + columns.begin,
                    .stride = p.b_stride,
                    .rows = depth.size,
                    .columns = columns.size(),
                    .out = out,
                    .out_rows = depth.padded,
                    .out_columns = width});
  }
}

Bf16* pack_panels(const BlockedProduct& p, const Depth& depth, const Range& panels) {
  const int64_t size = depth.padded * kColumns;
  Bf16* const out = workspaces().right.take(panels.size() * size);
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    pack_panel(p, depth, panel, out + (panel - panels.begin) * size);
  }
  return out;
}

struct Block {
  int64_t rows;
  int64_t columns;
  int64_t depth;
  const Bf16* a;
  int64_t a_stride;
  const Bf16* b;
  float* sums;  // (rows, kColumns)
  bool adds;
};

#if defined(CPUBLAS_BRGEMM_BF16BF16F32)
void multiply_rows(const Block& block, int64_t begin, int64_t rows) {
  if (rows > 0) {
    at::native::cpublas::brgemm(
        rows, block.columns, block.depth, block.a_stride, block.columns, kColumns, block.adds,
        reinterpret_cast<const at::BFloat16*>(block.a) + begin * block.a_stride,
        reinterpret_cast<const at::BFloat16*>(block.b), block.sums + begin * kColumns, true);
  }
}

void release() { at::native::cpublas::brgemm_release(true); }
#else
void multiply_rows(const Block&, int64_t, int64_t) {
  TORCH_CHECK(false, "this LibTorch has no block product");
}

void release() {}
#endif

/// LibTorch makes a kernel per shape and keeps it: the rows of the last block are cut so that there
/// are few shapes.
void multiply(const Block& block) {
  constexpr int64_t kStep = 12;
  const int64_t whole = block.rows / kStep * kStep;
  multiply_rows(block, 0, whole);
  multiply_rows(block, whole, block.rows - whole);
}

void finish(const BlockedProduct& p, const float* sums, int64_t block, int64_t panel) {
  const auto rows = rows_of(p, block);
  const auto columns = columns_of(p, panel);
  cpu::finish_product({.sums = sums,
                       .sums_stride = kColumns,
                       .rows = rows.size(),
                       .columns = columns.size(),
                       .out = p.out + rows.begin * p.out_stride + columns.begin,
                       .out_stride = p.out_stride,
                       .bias = p.bias == nullptr ? nullptr : p.bias + columns.begin,
                       .scale = p.scale,
                       .adds = p.adds});
}

/// The rows of the left side from a block on.
struct Left {
  const Bf16* rows;
  int64_t stride;
};

Left left_of(const BlockedProduct& p, const Depth& depth, const Range& rows) {
  if (!p.a_is_transposed) {
    return {.rows = p.a + rows.begin * p.a_stride + depth.begin, .stride = p.a_stride};
  }
  Bf16* const out = workspaces().left.take(kLeftBlocks * kRows * depth.padded);
  cpu::pack_transposed({.in = p.a + depth.begin * p.a_stride + rows.begin,
                        .stride = p.a_stride,
                        .rows = depth.size,
                        .columns = rows.size(),
                        .out = out,
                        .out_rows = depth.padded,
                        .out_columns = rows.size()});
  return {.rows = out, .stride = depth.padded};
}

/// One part of the depth. `sums` has a place for each block of the task, or for one alone where the
/// depth has one part.
void run_part(const BlockedProduct& p, const Task& task, const Depth& depth, float* sums) {
  const bool keeps_sums = depth.size < p.depth;
  const Bf16* const right = pack_panels(p, depth, task.panels);
  Left left{};
  for (int64_t block = task.blocks.begin; block < task.blocks.end; ++block) {
    const auto rows = rows_of(p, block);
    const int64_t place = (block - task.blocks.begin) % kLeftBlocks;
    if (place == 0) {
      const int64_t end = std::min(block + kLeftBlocks, task.blocks.end) * kRows;
      left = left_of(p, depth, {rows.begin, std::min(p.rows, end)});
    }
    for (int64_t panel = task.panels.begin; panel < task.panels.end; ++panel) {
      multiply({.rows = rows.size(),
                .columns = width_of(p, panel),
                .depth = depth.padded,
                .a = left.rows + place * kRows * left.stride,
                .a_stride = left.stride,
                .b = right + (panel - task.panels.begin) * depth.padded * kColumns,
                .sums = sums,
                .adds = depth.begin > 0});
      if (depth.begin + depth.size == p.depth) {
        finish(p, sums, block, panel);
      }
      sums += keeps_sums ? kRows * kColumns : 0;
    }
  }
}

void run(const BlockedProduct& p, const Task& task) {
  const int64_t parts = depth_parts(p);
  const int64_t most = part_size(p);
  const int64_t places = parts > 1 ? task.blocks.size() * task.panels.size() : 1;
  float* const sums = workspaces().sums.take(places * kRows * kColumns);
  for (int64_t begin = 0; begin < p.depth; begin += most) {
    const int64_t size = std::min(most, p.depth - begin);
    run_part(p, task,
             {.begin = begin,
              .size = size,
              .padded = p.a_is_transposed ? round_up(size, kDepthStep) : size},
             sums);
  }
}

/// One small product that is known: LibTorch refuses where its block kernel does not serve.
bool multiplies_ones() {
  constexpr int64_t kSize = 32;
  constexpr Bf16 kOne{0x3F80};
  std::array<Bf16, kSize * kSize> ones;
  ones.fill(kOne);
  std::array<Bf16, kSize * kSize> out{};
  try {
    run({.rows = kSize,
         .columns = kSize,
         .depth = kSize,
         .a = ones.data(),
         .a_stride = kSize,
         .a_is_transposed = false,
         .b = ones.data(),
         .b_stride = kSize,
         .b_is_transposed = false,
         .out = out.data(),
         .out_stride = kSize,
         .bias = nullptr,
         .scale = 1,
         .adds = false},
        {.blocks = {0, 1}, .panels = {0, 1}});
    release();
  } catch (const std::exception&) {
    return false;
  }
  constexpr uint16_t kSum = 0x4200;  // 32
  return std::all_of(out.begin(), out.end(), [](Bf16 x) { return x.bits == kSum; });
}

}  // namespace

bool has_bf16_instructions() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

bool can_multiply_blocked() {
  static const bool is_right = has_bf16_instructions() && multiplies_ones();
  return is_right && at::globalContext().userEnabledMkldnn();
}

void multiply_blocked(const BlockedProduct& product) {
  const auto grid = grid_of(product);
  parallel_for(0, grid.row_pieces * grid.panel_pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const auto task = task_of(product, grid, index);
      run(product, task);
    }
    release();  // AMX's tiles
  });
}

}  // namespace weft::kernels
