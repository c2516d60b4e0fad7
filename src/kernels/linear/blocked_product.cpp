#include "kernels/linear/blocked_product.h"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <type_traits>

#include <ATen/Context.h>

#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/packing.h"
#include "kernels/fused.h"
#include "kernels/linear/amx_product.h"
#include "kernels/linear/product_grid.h"
#include "kernels/parallel.h"
#include "kernels/workspace.h"

namespace weft::kernels {
namespace {

using cpu::Bf16;

constexpr int64_t kColumns = cpu::kPanelColumns;

// Operand: the type that is multiplied, float or Bf16 in pairs. T: the type in memory, the same, or
// Bf16 that is widened to float.
template <class Operand>
constexpr int64_t kDepthStep = cpu::kSumDepth;  // the depth is split only between sums
template <>
constexpr int64_t kDepthStep<Bf16> = 32;
template <class Operand>
constexpr int64_t kPadding = 1;  // packing both sides pads the depth to a multiple of it
template <>
constexpr int64_t kPadding<Bf16> = 32;

/// Row blocks of a transposed left side packed at once: of bf16, one would not be whole cache
/// lines.
template <class Operand>
constexpr int64_t kLeftBlocks = 1;
template <>
constexpr int64_t kLeftBlocks<Bf16> = 4;

template <class Operand>
struct Workspaces {
  Workspace<Operand> left;
  Workspace<Operand> right;
  Workspace<float> sums;
};

template <class Operand>
Workspaces<Operand>& workspaces() {
  static thread_local Workspaces<Operand> spaces;
  return spaces;
}

template <class Operand, class T>
ProductSizes sizes_of(const BlockedProduct<T>& p) {
  return {.rows = p.out.rows,
          .columns = p.out.columns,
          .depth = p.depth,
          .left_is_transposed = p.a_is_transposed,
          .operand_bytes = sizeof(Operand),
          .depth_step = kDepthStep<Operand>};
}

template <class T>
Range columns_of(const BlockedProduct<T>& p, int64_t panel) {
  return {panel * kColumns, std::min(p.out.columns, (panel + 1) * kColumns)};
}

template <class T>
int64_t width_of(const BlockedProduct<T>& p, int64_t panel) {
  return cpu::panel_width(panel * kColumns, p.out.columns);
}

/// Part of the depth; `padded` is the size multiplied.
struct Depth {
  int64_t begin;
  int64_t size;
  int64_t padded;
};

/// Panel as packed by pack_right.
template <class T>
const T* packed_panel(const BlockedProduct<T>& p, const Depth& depth, int64_t panel) {
  return p.panels + panel * kColumns * p.depth + depth.begin * width_of(p, panel);
}

/// Packing (depth, columns) and (columns, depth) for the right side. Bf16 -> Bf16 is packed in
/// pairs if these are multiplied.
template <class In, class Out>
void pack_rows(const cpu::Pack<In, Out>& pack) {
  operations<In>().widen_rows(pack);
}
template <>
void pack_rows(const cpu::Pack<Bf16>& pack) {
  multiplies_bf16() ? cpu::pack_row_pairs(pack) : operations<Bf16>().pack_rows(pack);
}

template <class In, class Out>
void pack_columns(const cpu::Pack<In, Out>& pack) {
  operations<In>().widen_transposed(pack);
}
template <>
void pack_columns(const cpu::Pack<Bf16>& pack) {
  multiplies_bf16() ? cpu::pack_column_pairs(pack) : operations<Bf16>().pack_transposed(pack);
}

/// Rows of the left side, from the start of a block.
template <class Operand>
struct Left {
  const Operand* rows;
  int64_t row_stride;
  int64_t depth_stride = 1;
};

/// A left side stored as (depth, rows): in fp32 packed in this order, pairs as (rows, depth).
template <class T>
Left<float> pack_left_columns(const cpu::Pack<T, float>& pack) {
  pack_rows(pack);
  return {.rows = pack.out, .row_stride = 1, .depth_stride = pack.out_columns};
}
Left<Bf16> pack_left_columns(const cpu::Pack<Bf16>& pack) {
  cpu::pack_transposed(pack);
  return {.rows = pack.out, .row_stride = pack.out_rows};
}

/// Packs one panel of the right side.
template <class Out, class T>
void pack_panel(const BlockedProduct<T>& p, const Depth& depth, int64_t panel, Out* out) {
  const auto columns = columns_of(p, panel);
  const int64_t width = width_of(p, panel);
  if (p.panels != nullptr) {
    pack_rows(cpu::Pack<T, Out>{.in = packed_panel(p, depth, panel),
                                .stride = width,
                                .rows = depth.size,
                                .columns = width,
                                .out = out,
                                .out_rows = depth.padded,
                                .out_columns = width});
  } else if (p.b_is_transposed) {
    pack_columns(cpu::Pack<T, Out>{.in = p.b + columns.begin * p.b_stride + depth.begin,
                                   .stride = p.b_stride,
                                   .rows = columns.size(),
                                   .columns = depth.size,
                                   .out = out,
                                   .out_rows = width,
                                   .out_columns = depth.padded});
  } else {
    pack_rows(cpu::Pack<T, Out>{.in = p.b + depth.begin * p.b_stride + columns.begin,
                                .stride = p.b_stride,
                                .rows = depth.size,
                                .columns = columns.size(),
                                .out = out,
                                .out_rows = depth.padded,
                                .out_columns = width});
  }
}

template <class Operand, class T>
const Operand* pack_panels(const BlockedProduct<T>& p, const Depth& depth, const Range& panels) {
  const int64_t size = depth.padded * kColumns;
  Operand* const out = workspaces<Operand>().right.take(panels.size() * size);
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    pack_panel(p, depth, panel, out + (panel - panels.begin) * size);
  }
  return out;
}

/// Output location of a block's sums.
template <class T>
cpu::ProductRows<T> out_of(const BlockedProduct<T>& p,
                           const float* sums,
                           const Range& rows,
                           int64_t panel) {
  const auto columns = columns_of(p, panel);
  return cpu::part_of(p.out, rows.begin, rows.size(), columns.begin, columns.size(), sums);
}

template <class Operand, class T>
constexpr bool kWidens = !std::is_same_v<Operand, T>;

template <class Operand, class T>
Left<Operand> left_of(const BlockedProduct<T>& p, const Depth& depth, const Range& rows) {
  if (p.a_is_transposed) {
    Operand* const out =
        workspaces<Operand>().left.take(kLeftBlocks<Operand> * kBlockRows * depth.padded);
    return pack_left_columns(
        cpu::Pack<T, Operand>{.in = p.a + depth.begin * p.a_stride + rows.begin,
                              .stride = p.a_stride,
                              .rows = depth.size,
                              .columns = rows.size(),
                              .out = out,
                              .out_rows = depth.padded,
                              .out_columns = rows.size()});
  }
  const T* const in = p.a + rows.begin * p.a_stride + depth.begin;
  if constexpr (kWidens<Operand, T>) {
    Operand* const out = workspaces<Operand>().left.take(kBlockRows * depth.padded);
    pack_rows(cpu::Pack<T, Operand>{.in = in,
                                    .stride = p.a_stride,
                                    .rows = rows.size(),
                                    .columns = depth.size,
                                    .out = out,
                                    .out_rows = rows.size(),
                                    .out_columns = depth.padded});
    return {.rows = out, .row_stride = depth.padded};
  } else {
    return {.rows = in, .row_stride = p.a_stride};
  }
}

/// Our own kernels are faster than LibTorch's, except for those of AMX.
template <class Out>
void multiply_panel(const cpu::PanelProduct<float>& product, const cpu::PanelOutput<Out>& out) {
  operations<Out>().multiply_panel(product, out);
}
void multiply_panel(const cpu::PanelProduct<Bf16>& product, const cpu::PanelOutput<Bf16>& out) {
  cpu::has_amx() ? multiply_with_amx(product, out)
                 : cpu::kernel_table().multiply_pairs(product, out);
}

/// `packed`: the panels of the task; null: as packed by pack_right.
template <class Operand, class T>
const Operand* right_panel(const BlockedProduct<T>& p,
                           const Depth& depth,
                           const Task& task,
                           const Operand* packed,
                           int64_t panel) {
  if constexpr (!kWidens<Operand, T>) {
    if (packed == nullptr) {
      return packed_panel(p, depth, panel);
    }
  }
  return packed + (panel - task.panels.begin) * depth.padded * kColumns;
}

/// Multiplies one part of the depth. `sums` has a slot for each block of the task, or a single one
/// if the depth has one part.
template <class Operand, class T>
void run_part(const BlockedProduct<T>& p, const Task& task, const Depth& depth, float* sums) {
  const bool keeps_sums = depth.size < p.depth;
  const bool packs = kWidens<Operand, T> || p.panels == nullptr;
  const Operand* const right = packs ? pack_panels<Operand>(p, depth, task.panels) : nullptr;
  Left<Operand> left{};
  const auto sizes = sizes_of<Operand>(p);
  const int64_t blocks = row_blocks_of(task);
  const int64_t left_blocks = p.a_is_transposed ? kLeftBlocks<Operand> : 1;
  int64_t first = 0;  // first row in `left`
  for (int64_t block = 0; block < blocks; ++block) {
    const auto rows = block_rows(sizes, task, block);
    if (block % left_blocks == 0) {
      const int64_t last = std::min(block + left_blocks, blocks) - 1;
      first = rows.begin;
      left = left_of<Operand>(p, depth, {first, block_rows(sizes, task, last).end});
    }
    for (int64_t panel = task.panels.begin; panel < task.panels.end; ++panel) {
      const cpu::PanelProduct<Operand> product{
          .a = left.rows + (rows.begin - first) * left.row_stride,
          .a_row = left.row_stride,
          .a_depth = left.depth_stride,
          .rows = rows.size(),
          .depth = depth.padded,
          .b = right_panel(p, depth, task, right, panel),
          .width = width_of(p, panel),
          .sums = sums,
          .adds_to_sums = depth.begin > 0};
      multiply_panel(product, depth.begin + depth.size == p.depth
                                  ? std::optional(out_of(p, sums, rows, panel))
                                  : std::nullopt);
      sums += keeps_sums ? kBlockRows * kColumns : 0;
    }
  }
}

template <class Operand, class T>
void run_product(const BlockedProduct<T>& p, const Task& task) {
  const auto sizes = sizes_of<Operand>(p);
  const int64_t most = part_size(sizes);
  const int64_t places = depth_parts(sizes) > 1 ? row_blocks_of(task) * task.panels.size() : 1;
  float* const sums = workspaces<Operand>().sums.take(places * kBlockRows * kColumns);
  for (int64_t begin = 0; begin < p.depth; begin += most) {
    const int64_t size = std::min(most, p.depth - begin);
    run_part<Operand>(p, task,
                      {.begin = begin,
                       .size = size,
                       .padded = p.a_is_transposed ? round_up(size, kPadding<Operand>) : size},
                      sums);
  }
}

template <class Operand, class T>
void multiply_as(const BlockedProduct<T>& product) {
  const auto sizes = sizes_of<Operand>(product);
  const auto grid = grid_of(sizes);
  parallel_for(0, grid.tasks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      run_product<Operand>(product, task_of(sizes, grid, index));
    }
    release_amx();
  });
}

/// Checks a small product with a known result: LibTorch throws where it has no block kernel.
bool multiplies_with_amx() {
  constexpr int64_t kSize = 32;
  constexpr Bf16 kOne{0x3F80};
  constexpr Bf16 kSum{0x4200};
  std::array<Bf16, kSize * kSize> ones;
  ones.fill(kOne);
  std::array<Bf16, kSize * kSize> out{};
  try {
    run_product<Bf16>(
        BlockedProduct<Bf16>{
            .depth = kSize,
            .a = ones.data(),
            .a_stride = kSize,
            .b = ones.data(),
            .b_stride = kSize,
            .out = {.rows = kSize, .columns = kSize, .out = out.data(), .out_stride = kSize}},
        {.rows = {0, kSize}, .panels = {0, 1}});
    release_amx();
  } catch (const std::exception&) {
    return false;
  }
  return std::all_of(out.begin(), out.end(), [&](Bf16 x) { return x.bits == kSum.bits; });
}

}  // namespace

bool multiplies_bf16() { return cpu::kernel_table().multiply_pairs != nullptr; }

template <>
bool can_multiply_blocked<float>() {
  return cpu::has_avx2();
}

template <>
bool can_multiply_blocked<Bf16>() {
  if (!multiplies_bf16() || !cpu::has_amx()) {
    return can_multiply_blocked<float>();
  }
  static const bool kIsRight = multiplies_with_amx();
  return kIsRight && at::globalContext().userEnabledMkldnn();
}

template <>
void multiply_blocked(const BlockedProduct<float>& product) {
  multiply_as<float>(product);
}

template <>
void multiply_blocked(const BlockedProduct<Bf16>& product) {
  multiplies_bf16() ? multiply_as<Bf16>(product) : multiply_as<float>(product);
}

template <class T>
int64_t packed_size(const BlockedProduct<T>& p) {
  const int64_t last = p.out.columns / kColumns * kColumns;
  return p.depth * (last + cpu::panel_width(last, p.out.columns));
}

template <class T>
void pack_right(const BlockedProduct<T>& p, T* out) {
  const Depth all{.begin = 0, .size = p.depth, .padded = p.depth};
  parallel_for(0, divide_up(p.out.columns, kColumns), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      pack_panel(p, all, panel, out + panel * kColumns * p.depth);
    }
  });
}

template int64_t packed_size(const BlockedProduct<float>&);
template int64_t packed_size(const BlockedProduct<Bf16>&);
template void pack_right(const BlockedProduct<float>&, float*);
template void pack_right(const BlockedProduct<Bf16>&, Bf16*);

}  // namespace weft::kernels
