#include "kernels/product.h"

#include <limits>

#include "kernels/blocked_product.h"
#include "kernels/compare.h"

namespace weft::kernels {
namespace {

class Product : public ::testing::Test {
 protected:
  void SetUp() override { at::manual_seed(1); }

  static at::Tensor random(at::IntArrayRef shape) { return at::randn(shape).to(at::kBFloat16); }

  /// A view of that shape into a matrix that is NaN all around it.
  static at::Tensor among_nans(int64_t rows, int64_t columns) {
    const auto all =
        at::full({rows + 2, columns + 6}, std::numeric_limits<float>::quiet_NaN(), at::kBFloat16);
    auto view = all.narrow(0, 1, rows).narrow(1, 2, columns);
    view.copy_(random({rows, columns}));
    return view;
  }

  static at::Tensor exact(const at::Tensor& a, const at::Tensor& b) {
    return at::mm(a.to(at::kDouble), b.to(at::kDouble));
  }

  /// Within the rounding of bf16, each element by itself; the sums are of numbers around 1.
  static void expect_rounded(const at::Tensor& actual, const at::Tensor& expected) {
    ASSERT_EQ(actual.scalar_type(), at::kBFloat16);
    ASSERT_EQ(actual.sizes(), expected.sizes());
    const auto error = (actual.to(at::kDouble) - expected).abs();
    const auto allowed = expected.abs() / 256 + 1e-4;
    EXPECT_TRUE((error <= allowed).all().item<bool>())
        << "off by " << (error - allowed).max().item<double>() << " more than rounding";
  }
};

TEST_F(Product, EqualsTheReferenceAtOddShapes) {
  for (const int64_t rows : {1, 7, 48, 61, 441}) {
    for (const int64_t depth : {1, 2, 33, 96, 130}) {
      for (const int64_t columns : {1, 6, 64, 100}) {
        SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(depth) + " x " +
                     std::to_string(columns));
        const auto x = random({rows, depth});
        const auto weight = random({columns, depth});
        const auto bias = random({columns});
        const auto g = random({rows, columns});
        expect_rounded(product(x, weight.t(), bias), exact(x, weight.t()) + bias.to(at::kDouble));
        expect_rounded(product(x, weight.t()), exact(x, weight.t()));
        expect_rounded(product(g, weight), exact(g, weight));
        expect_rounded(product(g.t(), x), exact(g.t(), x));
        expect_rounded(product(g.t(), x.t().contiguous().t()), exact(g.t(), x));
      }
    }
  }
}

TEST_F(Product, ADepthOfManyPartsIsAddedUpBeforeRounding) {
  for (const int64_t depth : {512, 513, 1501}) {
    const auto g = random({depth, 130});
    const auto x = random({depth, 70});
    expect_rounded(product(g.t(), x), exact(g.t(), x));
    const auto sum = random({130, 70});
    const auto expected = sum.to(at::kDouble) + exact(g.t(), x);
    add_product(sum, g.t(), x);
    expect_rounded(sum, expected);
  }
  const auto logits = random({50, 6150});
  const auto weight = random({6150, 20});
  expect_rounded(product(logits, weight), exact(logits, weight));
  expect_rounded(product(logits, weight.t().contiguous().t()), exact(logits, weight));
}

TEST_F(Product, IsScaledAndAddedToColumnsOfAWiderMatrix) {
  const auto wide = random({50, 40});
  const auto before = wide.clone();
  const auto a = random({50, 8});
  const auto b = random({20, 8});
  add_product(wide.narrow(1, 7, 20), a, b.t(), 0.25);
  const auto expected = before.narrow(1, 7, 20).to(at::kDouble) + 0.25 * exact(a, b.t());
  expect_rounded(wide.narrow(1, 7, 20), expected);
  EXPECT_TRUE(at::equal(wide.narrow(1, 0, 7), before.narrow(1, 0, 7)));
  EXPECT_TRUE(at::equal(wide.narrow(1, 27, 13), before.narrow(1, 27, 13)));
}

TEST_F(Product, SeesNothingBesideItsMatrices) {
  for (const int64_t depth : {31, 32, 50}) {
    const auto x = among_nans(53, depth);
    const auto weight = among_nans(70, depth);
    const auto g = among_nans(53, 70);
    expect_rounded(product(x, weight.t()), exact(x, weight.t()));
    expect_rounded(product(g, weight), exact(g, weight));
    expect_rounded(product(g.t(), x), exact(g.t(), x));
  }
}

TEST_F(Product, WithoutDepthIsTheBias) {
  const auto bias = random({3});
  EXPECT_TRUE(at::equal(product(random({2, 0}), random({0, 3}), bias), bias.expand({2, 3})));
  EXPECT_EQ(product(random({0, 4}), random({4, 3})).sizes(), at::IntArrayRef({0, 3}));
}

TEST_F(Product, OfFloatsIsThatOfLibTorch) {
  const auto a = at::randn({9, 5});
  const auto b = at::randn({4, 5});
  const auto bias = at::randn({4});
  EXPECT_TRUE(at::equal(product(a, b.t(), bias), at::linear(a, b, bias)));
  EXPECT_TRUE(at::equal(product(a, b.t()), at::linear(a, b)));
  const auto sum = at::zeros({9, 4});
  add_product(sum, a, b.t(), 0.5);
  EXPECT_TRUE(at::allclose(sum, at::mm(a, b.t()) * 0.5));
}

TEST_F(Product, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(product(random({2, 3}), random({4, 5})), c10::Error);
  EXPECT_THROW(product(random({2, 4}), random({4, 5}), random({4})), c10::Error);
  EXPECT_THROW(add_product(random({2, 6}), random({2, 4}), random({4, 5})), c10::Error);
}

TEST_F(Product, BitsOfARowDoNotDependOnHowManyThereAre) {
  if (!can_multiply_blocked()) {
    GTEST_SKIP() << "this processor or LibTorch multiplies no blocks of bf16";
  }
  for (const int64_t depth : {64, 386}) {
    const auto x = random({100, depth});
    const auto g = random({100, 70});
    const auto weight = random({70, depth});
    const auto bias = random({70});
    const auto y = product(x, weight.t(), bias);
    const auto dx = product(g, weight);
    for (int64_t rows = 1; rows < 100; ++rows) {
      ASSERT_TRUE(at::equal(product(x.narrow(0, 0, rows), weight.t(), bias), y.narrow(0, 0, rows)))
          << rows;
      ASSERT_TRUE(at::equal(product(g.narrow(0, 0, rows), weight), dx.narrow(0, 0, rows))) << rows;
    }
    EXPECT_TRUE(at::equal(product(x.narrow(0, 41, 3), weight.t(), bias), y.narrow(0, 41, 3)));
  }
}

TEST_F(Product, BitsDoNotDependOnTheNumberOfThreads) {
  const auto x = random({700, 300});
  const auto g = random({700, 210});
  const auto weight = random({210, 300});
  const auto start = random({210, 300});
  const auto once = [&] {
    const auto sum = start.clone();
    add_product(sum, g.t(), x);
    return std::vector<at::Tensor>{product(x, weight.t()), product(g, weight), sum};
  };
  const auto alone = test::with_threads(1, once);
  for (const int threads : {2, 3, 7}) {
    EXPECT_TRUE(test::same_bits(alone, test::with_threads(threads, once))) << threads;
  }
}

// LibTorch's own product has other bits in one thread than in two where the result has few rows.
TEST_F(Product, FewRowsHaveTheSameBitsInAnyNumberOfThreads) {
  const auto threads = at::get_num_threads();
  for (int64_t rows = 1; rows <= 16; ++rows) {
    for (const int64_t depth : {16, 64, 300}) {
      const auto a = at::randn({rows, depth});
      const auto b = at::randn({depth, 70});
      const auto both = [&](int count) {
        at::set_num_threads(count);
        const auto sum = at::ones({rows, 70});
        add_product(sum, a, b, 0.5);
        return at::cat({product(a, b), product(a.t().contiguous().t(), b, b[0]), sum});
      };
      const auto alone = both(1);
      EXPECT_TRUE(at::allclose(alone.narrow(0, 0, rows), at::mm(a, b), 1e-4, 1e-4)) << rows;
      EXPECT_TRUE(at::allclose(alone.narrow(0, 2 * rows, rows), 1 + 0.5 * at::mm(a, b), 1e-4, 1e-4))
          << rows;
      for (const int count : {2, 5}) {
        EXPECT_TRUE(at::equal(alone, both(count))) << rows << " rows, " << count << " threads";
      }
    }
  }
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace weft::kernels
