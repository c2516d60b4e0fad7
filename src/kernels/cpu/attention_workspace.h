// Memory of one attention task, and how rows of its inputs come into it and results out of it.
// Included by the level's unit only.
#pragma once

#include "kernels/cpu/product_kernels.h"
#include "kernels/cpu/rotary_kernels.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/transpose.h"
#include "kernels/cpu/types.h"

namespace weft::kernels::cpu::WEFT_LEVEL {

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// `rows` rows of `width` elements that lie `stride` apart.
template <class T>
struct Strip {
  T* data;
  int64_t stride;
  int64_t rows;
  int64_t width;
};

// dst (rows, padded width) = factor * src, zero beyond the width.
template <class T>
inline void pack(const Strip<const T>& src, float factor, float* dst) {
  const int64_t padded = round_up_16(src.width);
  for (int64_t i = 0; i < src.rows; ++i) {
    const T* const row = src.data + i * src.stride;
    for (int64_t c = 0; c < padded; c += kLanes) {
      const int64_t left = src.width - c;
      const Vec x = left >= kLanes ? load(row + c)
                    : left > 0     ? load(row + c, static_cast<int>(left))
                                   : zero();
      store(dst + i * padded + c, x * set(factor));
    }
  }
}

// Rows of a head as both sides of products read them. One product a term: the same memory.
template <class Term>
struct Sides {
  Term* left;   // (rows, width in terms): the depth lies in a row
  Term* right;  // (rows in terms, width): the depth lies in a column
};

// Rows of a head, and the angles of their places by which they are turned, if any.
template <class T>
struct HeadRows {
  Strip<const T> strip;
  int64_t angles_width = 0;
  const float* angles = nullptr;
};

template <class T>
inline void pack_sides(const HeadRows<T>& rows, const Sides<float>& sides) {
  const auto& [strip, angles_width, angles] = rows;
  pack<T>(strip, 1.0F, sides.left);
  turn<false>({sides.left, strip.rows, round_up_16(strip.width), angles_width, angles});
}

// Rows of whole vectors of pairs, one after another.
template <class T>
inline void pack_left(const HeadRows<T>& rows, T* left) {
  const auto& [strip, angles_width, angles] = rows;
  const int64_t width = strip.width;
  auto* const words = reinterpret_cast<float*>(left);
  if (angles == nullptr) {
    for (int64_t i = 0; i < strip.rows; ++i) {
      const auto* const row = reinterpret_cast<const float*>(strip.data + i * strip.stride);
      for (int64_t c = 0; c < width / 2; c += kLanes) {
        store(words + i * width / 2 + c, load(row + c));
      }
    }
    return;
  }
  pack<T>(strip, 1.0F, words);  // as large as both sides
  turn<false>({words, strip.rows, width, angles_width, angles});
  for (int64_t i = 0; i < strip.rows * width; i += kLanes) {
    store(left + i, load(words + i));
  }
}

// A last row without a neighbour gets zeros for it.
template <class T>
inline void pack_sides(const HeadRows<T>& rows, const Sides<Pair>& sides) {
  T* const left = reinterpret_cast<T*>(sides.left);
  pack_left(rows, left);
  const int64_t width = rows.strip.width;
  for (int64_t i = 0; i < rows.strip.rows; i += 2) {
    const T* const row = left + i * width;
    const bool has_neighbour = i + 1 < rows.strip.rows;
    for (int64_t c = 0; c < width; c += kLanes) {
      store(sides.right + i / 2 * width + c, load(row + c),
            has_neighbour ? load(row + width + c) : zero());
    }
  }
}

// dst (columns, dst_stride) = transposed src (rows, columns), zero up to the next multiple of 16
// rows. Terms of any kind: they are moved as they are.
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
inline void unpack(const float* src, float factor, const Strip<T>& dst) {
  const int64_t padded = round_up_16(dst.width);
  for (int64_t i = 0; i < dst.rows; ++i) {
    T* const row = dst.data + i * dst.stride;
    for_each_vector(dst.width, [&](int64_t c, int count) {
      store_up_to(row + c, load(src + i * padded + c) * set(factor), count);
    });
  }
}

// Where everything of one task lies in its scratch.
template <class Term>
struct Workspace {
  int64_t width;         // padded K
  int64_t tile;          // keys of a tile, rounded up to 16
  int64_t stride;        // of rows of scores; off the powers of two, which would share cache sets
  Sides<Term> q;         // queries
  Sides<Term> k;         // keys
  Sides<Term> v;         // keys
  Sides<Term> gradient;  // queries
  Term* k_columns;       // per tile (width in terms, stride)
  Term* v_columns;       // per tile (width in terms, stride)
  float* scores;         // (kQueryBlock, stride), where the weights take their place
  float* slopes;         // (kQueryBlock, stride)
  Term* slope_rows;      // (kQueryBlock, stride in terms): slopes whose depth lies in a row
  float* values;         // (kQueryBlock, width) the sum of values so far
  float* dq;             // (queries, width)
  float* dk;             // (tile, width)
  float* dv;             // (tile, width)
  float* dot;            // (queries) gradient . out; forward: the running maximum
  float* total;          // (queries) forward: the running sum
  uint16_t* bits;        // (kQueryBlock, keys / 16)

  int64_t depth() const { return terms_of<Term>(width); }
};

class Carver {
 public:
  explicit Carver(float* scratch) : next_(scratch) {}

  template <class T = float>
  T* take(int64_t floats) {
    float* const result = next_;
    next_ += round_up_16(floats);
    return reinterpret_cast<T*>(result);
  }
  template <class Term>
  Sides<Term> take_sides(int64_t rows, int64_t width) {
    Term* const left = take<Term>((rows + 1) * width);
    return {left, kDepth<Term> == 1 ? left : left + rows * width / kDepth<Term>};
  }

 private:
  float* next_;
};

template <class Term, class T>
inline Workspace<Term> carve(const AttentionTask<T>& task) {
  Carver carver(task.scratch);
  Workspace<Term> w{};
  w.width = round_up_16(task.width);
  w.tile = smaller(round_up_16(task.keys), kKeyTile);
  w.stride = w.tile + 16;
  const int64_t tiles = (task.keys + kKeyTile - 1) / kKeyTile;
  w.q = carver.take_sides<Term>(task.queries, w.width);
  w.gradient = carver.take_sides<Term>(task.queries, w.width);
  w.values = carver.take(kQueryBlock * w.width);
  w.dq = carver.take(task.queries * w.width);
  w.k = carver.take_sides<Term>(task.keys, w.width);
  w.v = carver.take_sides<Term>(task.keys, w.width);
  w.dk = carver.take(w.tile * w.width);
  w.dv = carver.take(w.tile * w.width);
  w.k_columns = carver.take<Term>(tiles * w.stride * w.depth());
  w.v_columns = carver.take<Term>(tiles * w.stride * w.depth());
  w.scores = carver.take(kQueryBlock * w.stride);
  w.slopes = carver.take(kQueryBlock * w.stride);
  w.slope_rows = kDepth<Term> == 1 ? reinterpret_cast<Term*>(w.slopes)
                                   : carver.take<Term>(kQueryBlock * w.stride / kDepth<Term>);
  w.dot = carver.take(task.queries);
  w.total = carver.take(task.queries);
  w.bits = carver.take<uint16_t>(kQueryBlock * round_up_16(task.keys) / 32);
  return w;
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
