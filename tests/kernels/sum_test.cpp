#include "kernels/sum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "kernels/compare.h"

namespace weft::kernels {
namespace {

TEST(Total, HasTheSameBitsWhateverTheThreads) {
  at::manual_seed(3);
  for (const int64_t size : {int64_t{5}, int64_t{8192}, int64_t{100'003}, int64_t{40'000'000}}) {
    const auto x = at::randn({size});
    const auto one = comparison::with_threads(1, [&] { return deterministic_sum(x); });
    for (const int threads : {2, 3, 4}) {
      EXPECT_TRUE(
          at::equal(one, comparison::with_threads(threads, [&] { return deterministic_sum(x); })))
          << size << " elements, " << threads << " threads";
    }
    const auto exact = x.to(at::kDouble).sum().item<double>();
    EXPECT_NEAR(one.item<double>(), exact, 1e-5 * static_cast<double>(size));
  }
}

TEST(Total, GivesEveryElementTheGradientOfTheSum) {
  auto x = at::ones({3, 5000}).requires_grad_();
  deterministic_sum(x * 2).backward();
  EXPECT_TRUE(at::equal(x.grad(), at::full({3, 5000}, 2.0)));
}

}  // namespace
}  // namespace weft::kernels
