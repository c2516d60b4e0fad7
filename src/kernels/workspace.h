#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace weft::kernels {

/// Reusable buffer of one thread, so that a product does not allocate.
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

}  // namespace weft::kernels
