// Loads and stores of partial vectors, for levels without masks. Included after their vector
// header.
#pragma once

namespace weft::kernels::cpu::WEFT_LEVEL {

template <class T>
inline Vec load(const T* p, int count) {
  T buffer[kLanes] = {};
  for (int i = 0; i < count; ++i) {
    buffer[i] = p[i];
  }
  return load(buffer);
}

template <class T>
inline void store(T* p, Vec x, int count) {
  T buffer[kLanes];
  store(buffer, x);
  for (int i = 0; i < count; ++i) {
    p[i] = buffer[i];
  }
}

}  // namespace weft::kernels::cpu::WEFT_LEVEL
