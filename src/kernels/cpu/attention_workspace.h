// Memory of one attention task, and how rows of its inputs come into it and results out of it.
// Included by the level's unit only.
#pragma once

#include "kernels/cpu/dropout_kernels.h"
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

// dst (padded width, dst_stride) = transposed src (rows, padded width), zero in the columns up to
// the next multiple of 16.
inline void pack_transposed(
    const float* src, int64_t rows, int64_t padded, float* dst, int64_t dst_stride) {
  for (int64_t i = 0; i < round_up_16(rows); i += kLanes) {
    for (int64_t c = 0; c < padded; c += kLanes) {
      Vec block[kLanes];
      for (int r = 0; r < kLanes; ++r) {
        block[r] = i + r < rows ? load(src + (i + r) * padded + c) : zero();
      }
      transpose(block);
      for (int r = 0; r < kLanes; ++r) {
        store(dst + (c + r) * dst_stride + i, block[r]);
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
struct Workspace {
  int64_t width;     // padded K
  int64_t tile;      // keys of a tile, rounded up to 16
  int64_t stride;    // of rows of scores; off the powers of two, which would share cache sets
  float* q;          // (queries, width), scaled by scale * log2 e
  float* k;          // (keys, width)
  float* v;          // (keys, width)
  float* k_columns;  // per tile (width, stride)
  float* v_columns;  // per tile (width, stride)
  float* scores;     // (kQueryBlock, stride)
  float* slopes;     // (kQueryBlock, stride)
  float* gradient;   // (queries, width) forward: (kQueryBlock, width), the sum of values
  float* dq;         // (queries, width)
  float* dk;         // (tile, width)
  float* dv;         // (tile, width)
  float* dot;        // (queries) gradient . out; forward: the running maximum
  float* total;      // (queries) forward: the running sum
  uint16_t* bits;    // (kQueryBlock, keys / 16)
};

class Carver {
 public:
  explicit Carver(float* scratch) : next_(scratch) {}
  float* take(int64_t floats) {
    float* const result = next_;
    next_ += round_up_16(floats);
    return result;
  }

 private:
  float* next_;
};

template <class T>
inline Workspace carve(const AttentionTask<T>& task) {
  Carver carver(task.scratch);
  Workspace w{};
  w.width = round_up_16(task.width);
  w.tile = smaller(round_up_16(task.keys), kKeyTile);
  w.stride = w.tile + 16;
  const int64_t tiles = (task.keys + kKeyTile - 1) / kKeyTile;
  w.q = carver.take(task.queries * w.width);
  w.gradient = carver.take((task.queries + kQueryBlock) * w.width);
  w.dq = carver.take((task.queries + kQueryBlock) * w.width);
  w.k = carver.take(tiles * w.stride * w.width);
  w.v = carver.take(tiles * w.stride * w.width);
  w.dk = carver.take(w.tile * w.width);
  w.dv = carver.take(w.tile * w.width);
  w.k_columns = carver.take(tiles * w.stride * w.width);
  w.v_columns = carver.take(tiles * w.stride * w.width);
  w.scores = carver.take(kQueryBlock * w.stride);
  w.slopes = carver.take(kQueryBlock * w.stride);
  w.dot = carver.take(task.queries);
  w.total = carver.take(task.queries);
  w.bits = reinterpret_cast<uint16_t*>(carver.take(kQueryBlock * round_up_16(task.keys) / 32));
  return w;
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
