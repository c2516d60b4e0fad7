#include "kernels/flop_counter.h"

namespace weft::kernels {

FlopCounter::FlopCounter() {
  FlopCounter* none = nullptr;
  TORCH_CHECK(active.compare_exchange_strong(none, this), "there is a FlopCounter already");
}

FlopCounter::~FlopCounter() { active = nullptr; }

int64_t FlopCounter::flops() const {
  const std::lock_guard lock(mutex_);
  return flops_;
}

std::map<ProductShape, int64_t> FlopCounter::products() const {
  const std::lock_guard lock(mutex_);
  return products_;
}

void FlopCounter::add(int64_t flops) {
  const std::lock_guard lock(mutex_);
  flops_ += flops;
}

void FlopCounter::add_product(const ProductShape& shape) {
  const std::lock_guard lock(mutex_);
  ++products_[shape];
  flops_ += 2 * shape.rows * shape.depth * shape.columns;
}

void count_with_backward(const at::Tensor& out, int64_t forward, int64_t backward) {
  auto* const counter = FlopCounter::current();
  if (counter == nullptr) {
    return;
  }
  counter->add(forward);
  if (out.requires_grad()) {
    out.register_hook([backward](const at::Tensor& /*gradient*/) {
      if (auto* const later = FlopCounter::current(); later != nullptr) {
        later->add(backward);
      }
    });
  }
}

}  // namespace weft::kernels
