#include "kernels/gpu.h"

#include <mutex>
#include <tuple>

#include <ATen/ATen.h>

#include "base/random.h"
#include "kernels/reference.h"

namespace weft::kernels::gpu {

void seed_dropout(const at::Device& device, const DropoutRule& rule, int64_t first) {
  const uint64_t key = (static_cast<uint64_t>(rule.key[1]) << 32U) | rule.key[0];
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard lock(generator.mutex());
  generator.set_current_seed(hash_combine(key, static_cast<uint64_t>(first)));
}

at::Tensor dropout(const at::Tensor& x, double p, const RngKey& rng_key) {
  if (p == 0.0) {
    return x;
  }
  seed_dropout(x.device(), dropout_rule(p, rng_key), rng_key.first_row);
  return std::get<0>(at::native_dropout(x, p, /*train=*/true));
}

at::Tensor layer_norm(const at::Tensor& x,
                      const at::Tensor& weight,
                      const at::Tensor& bias,
                      double epsilon) {
  const auto shift = bias.defined() ? bias.to(x.scalar_type()) : bias;
  return at::layer_norm(x, {x.size(-1)}, weight.to(x.scalar_type()), shift, epsilon);
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return at::rms_norm(x, {x.size(-1)}, weight.to(x.scalar_type()), epsilon);
}

at::Tensor add_dropout(const at::Tensor& residual,
                       const at::Tensor& branch,
                       double p,
                       const RngKey& rng_key) {
  return residual + gpu::dropout(branch, p, rng_key).to(residual.scalar_type());
}

at::Tensor activate_gated(const at::Tensor& x, Activation activation) {
  const auto halves = x.chunk(2, -1);
  return reference::activate(halves[0], activation) * halves[1];
}

}  // namespace weft::kernels::gpu
