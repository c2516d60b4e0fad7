// Scratch memory of one attention task, with packing of its inputs and unpacking of its results.
// Included only by per-level translation units.
#pragma once

#include "kernels/cpu/product_kernels.h"
#include "kernels/cpu/rotary_kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// `rows` rows of `width` elements, with row stride `stride`.
template <class T>
struct StridedRows {
  T* data;
  int64_t stride;
  int64_t rows;
  int64_t width;
};

// Rows that are prefetched: the hardware does not prefetch large strides.
inline constexpr int64_t kRowsAhead = 8;

// dst (rows, padded width) = factor * src, zero beyond the width.
template <class T>
inline void pack(const StridedRows<const T>& src, float factor, float* dst) {
  const int64_t padded = round_up_16(src.width);
  for (int64_t i = 0; i < src.rows; ++i) {
    const T* const row = src.data + i * src.stride;
    for (int64_t c = 0; c < padded; c += kLanes) {
      prefetch(row, c + kRowsAhead * src.stride);
      const int64_t left = src.width - c;
      const Vec x = left >= kLanes ? load(row + c)
                    : left > 0     ? load(row + c, static_cast<int>(left))
                                   : zero();
      store(dst + i * padded + c, x * set(factor));
    }
  }
}

// Rows of a head packed as left and right operands. With one product per term, both share memory.
template <class Term>
struct PackedOperands {
  Term* left;   // (rows, width in terms): depth along a row
  Term* right;  // (rows in terms, width): depth along a column
};

// Rows of a head, and the rotary angles of their positions, if any.
template <class T>
struct HeadRows {
  StridedRows<const T> source;
  int64_t angles_width = 0;
  const float* angles = nullptr;
};

template <class T>
inline void pack_operands(const HeadRows<T>& rows, const PackedOperands<float>& operands) {
  const auto& [source, angles_width, angles] = rows;
  pack<T>(source, 1.0F, operands.left);
  apply_rotary<false>(
      {operands.left, source.rows, round_up_16(source.width), angles_width, angles});
}

// Packs rows of whole vectors of pairs contiguously.
template <class T>
inline void pack_left(const HeadRows<T>& rows, T* left) {
  const auto& [source, angles_width, angles] = rows;
  const int64_t width = source.width;
  auto* const words = reinterpret_cast<float*>(left);
  if (angles == nullptr) {
    for (int64_t i = 0; i < source.rows; ++i) {
      const auto* const row = reinterpret_cast<const float*>(source.data + i * source.stride);
      for (int64_t c = 0; c < width / 2; c += kLanes) {
        prefetch(row, c + kRowsAhead * source.stride / 2);
        store(words + i * width / 2 + c, load(row + c));
      }
    }
    return;
  }
  pack<T>(source, 1.0F, words);  // uses the memory of both operands
  apply_rotary<false>({words, source.rows, width, angles_width, angles});
  for (int64_t i = 0; i < source.rows * width; i += kLanes) {
    store(left + i, load(words + i));
  }
}

// A last row without a partner is paired with zeros.
template <class T>
inline void pack_operands(const HeadRows<T>& rows, const PackedOperands<Pair>& operands) {
  T* const left = reinterpret_cast<T*>(operands.left);
  pack_left(rows, left);
  const int64_t width = rows.source.width;
  for (int64_t i = 0; i < rows.source.rows; i += 2) {
    const T* const row = left + i * width;
    const bool has_neighbour = i + 1 < rows.source.rows;
    for (int64_t c = 0; c < width; c += kLanes) {
      store(operands.right + i / 2 * width + c, load(row + c),
            has_neighbour ? load(row + width + c) : zero());
    }
  }
}

// dst (columns, dst_stride) = transposed src (rows, columns), zero up to the next multiple of 16
// rows. Terms of any type are moved as raw words.
template <class Term>
inline void pack_transposed(
    const Term* src, int64_t rows, int64_t columns, Term* dst, int64_t dst_stride) {
  const auto* const from = reinterpret_cast<const float*>(src);
  auto* const to = reinterpret_cast<float*>(dst);
  for (int64_t i = 0; i < round_up_16(rows); i += kLanes) {
    for (int64_t c = 0; c < columns; c += kLanes) {
      Vec block[kLanes];
      for (int r = 0; r < kLanes; ++r) {
        block[r] = i + r < rows ? load(from + (i + r) * columns + c) : zero();
      }
      transpose(block);
      for (int r = 0; r < kLanes; ++r) {
        store(to + (c + r) * dst_stride + i, block[r]);
      }
    }
  }
}

// dst = factor * src (rows, padded width).
template <class T>
inline void unpack(const float* src, float factor, const StridedRows<T>& dst) {
  const int64_t padded = round_up_16(dst.width);
  for (int64_t i = 0; i < dst.rows; ++i) {
    T* const row = dst.data + i * dst.stride;
    for_each_vector(dst.width, [&](int64_t c, int count) {
      store_up_to(row + c, load(src + i * padded + c) * set(factor), count);
    });
  }
}

// Memory layout of one task's scratch.
template <class Term>
struct Workspace {
  int64_t width;                  // padded K
  int64_t tile;                   // keys of a tile, rounded up to 16
  int64_t stride;                 // of rows of scores; not a power of two, to avoid cache conflicts
  PackedOperands<Term> q;         // queries
  PackedOperands<Term> k;         // keys
  PackedOperands<Term> v;         // keys
  PackedOperands<Term> gradient;  // queries
  Term* k_columns;                // per tile (width in terms, stride)
  Term* v_columns;                // per tile (width in terms, stride)
  float* scores;                  // (kQueryBlock, stride), overwritten by the weights
  float* dscores;                 // (kQueryBlock, stride)
  Term* dscores_rows;             // (kQueryBlock, stride in terms): dscores with depth along a row
  float* values;                  // (kQueryBlock, width) running sum of values
  float* dq;                      // (queries, width)
  float* dk;                      // (tile, width)
  float* dv;                      // (tile, width)
  float* dot;                     // (queries) gradient . out; forward: the running maximum
  float* total;                   // (queries) forward: the running sum
  uint16_t* bits;                 // (kQueryBlock, keys / 16)
  float* distances;               // (2, tile) dscores of the rows of a term

  int64_t depth() const { return terms_of<Term>(width); }
};

class WorkspaceAllocator {
 public:
  explicit WorkspaceAllocator(float* scratch) : next_(scratch) {}

  template <class T = float>
  T* take(int64_t floats) {
    float* const result = next_;
    next_ += round_up_16(floats);
    return reinterpret_cast<T*>(result);
  }
  template <class Term>
  PackedOperands<Term> take_operands(int64_t rows, int64_t width) {
    Term* const left = take<Term>((rows + 1) * width);
    return {left, kDepth<Term> == 1 ? left : left + rows * width / kDepth<Term>};
  }

 private:
  float* next_;
};

template <class Term, class T>
inline Workspace<Term> allocate_workspace(const AttentionTask<T>& task) {
  WorkspaceAllocator allocator(task.scratch);
  Workspace<Term> w{};
  w.width = round_up_16(task.width);
  w.tile = smaller(round_up_16(task.keys), kKeyTile);
  w.stride = w.tile + 16;
  const int64_t tiles = (task.keys + kKeyTile - 1) / kKeyTile;
  w.q = allocator.take_operands<Term>(task.queries, w.width);
  w.gradient = allocator.take_operands<Term>(task.queries, w.width);
  w.values = allocator.take(kQueryBlock * w.width);
  w.dq = allocator.take(task.queries * w.width);
  w.k = allocator.take_operands<Term>(task.keys, w.width);
  w.v = allocator.take_operands<Term>(task.keys, w.width);
  w.dk = allocator.take(w.tile * w.width);
  w.dv = allocator.take(w.tile * w.width);
  w.k_columns = allocator.take<Term>(tiles * w.stride * w.depth());
  w.v_columns = allocator.take<Term>(tiles * w.stride * w.depth());
  w.scores = allocator.take(kQueryBlock * w.stride);
  w.dscores = allocator.take(kQueryBlock * w.stride);
  w.dscores_rows = kDepth<Term> == 1 ? reinterpret_cast<Term*>(w.dscores)
                                     : allocator.take<Term>(kQueryBlock * w.stride / kDepth<Term>);
  w.dot = allocator.take(task.queries);
  w.total = allocator.take(task.queries);
  w.bits = allocator.take<uint16_t>(kQueryBlock * round_up_16(task.keys) / 32);
  w.distances = allocator.take(2 * w.tile);
  return w;
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
