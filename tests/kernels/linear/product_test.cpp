#include "kernels/linear/product.h"

#include <limits>

#include "kernels/compare.h"
#include "kernels/linear/blocked_product.h"

namespace weft::kernels {
namespace {

class Product : public comparison::EveryVariant {
 protected:
  static at::Tensor random(at::IntArrayRef shape) { return at::randn(shape).to(GetParam().type); }
  static bool is_single() { return GetParam().type == at::kFloat; }
  static bool multiplies_pairs() { return !is_single() && multiplies_bf16(); }
  static bool is_blocked() {
    return is_single() ? can_multiply_blocked<float>() : can_multiply_blocked<cpu::Bf16>();
  }

  /// A view of that shape into a matrix that is NaN all around it.
  static at::Tensor among_nans(int64_t rows, int64_t columns) {
    const auto all =
        at::full({rows + 2, columns + 6}, std::numeric_limits<float>::quiet_NaN(), GetParam().type);
    auto view = all.narrow(0, 1, rows).narrow(1, 2, columns);
    view.copy_(random({rows, columns}));
    return view;
  }

  static at::Tensor exact(const at::Tensor& a, const at::Tensor& b) {
    return at::mm(a.to(at::kDouble), b.to(at::kDouble));
  }

  /// Elementwise equality within the rounding of the type; the sums are of numbers around 1.
  static void expect_rounded(const at::Tensor& actual, const at::Tensor& expected) {
    ASSERT_EQ(actual.scalar_type(), GetParam().type);
    ASSERT_EQ(actual.sizes(), expected.sizes());
    const auto error = (actual.to(at::kDouble) - expected).abs();
    const auto allowed = is_single() ? expected.abs() / 1e5 + 1e-4 : expected.abs() / 256 + 1e-4;
    EXPECT_TRUE((error <= allowed).all().item<bool>())
        << "off by " << (error - allowed).max().item<double>() << " more than rounding";
  }
};

TEST_P(Product, EqualsTheReferenceAtOddShapes) {
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

TEST_P(Product, RowsMayHaveAnOddStride) {
  const auto x = random({61, 33}).narrow(1, 0, 32);
  const auto weight = random({64, 35}).narrow(1, 2, 32);
  expect_rounded(product(x, weight.t()), exact(x, weight.t()));
}

TEST_P(Product, TheLeftSideMayHaveAnyStrides) {
  const auto weight = random({70, 40});
  const auto whole = random({120, 160});
  for (const int64_t rows : {1, 3, 11, 60}) {
    const auto x = whole.slice(0, 0, 2 * rows, 2).slice(1, 1, 160, 4);  // (rows, 40)
    expect_rounded(product(x, weight.t()), exact(x, weight.t()));
    const auto expanded = whole[0].slice(0, 0, 40).expand({rows, 40});
    expect_rounded(product(expanded, weight.t()), exact(expanded, weight.t()));
    const auto sum = random({rows, 70});
    const auto expected = sum.to(at::kDouble) + exact(x, weight.t());
    add_product(sum, x, weight.t());
    expect_rounded(sum, expected);
  }
}

TEST_P(Product, LongReductionDepthIsAccumulatedBeforeRounding) {
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

TEST_P(Product, IsScaledAndAddedToColumnsOfAWiderMatrix) {
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

TEST_P(Product, ReadsOnlyItsMatrices) {
  for (const int64_t depth : {31, 32, 50}) {
    const auto x = among_nans(53, depth);
    const auto weight = among_nans(70, depth);
    const auto g = among_nans(53, 70);
    expect_rounded(product(x, weight.t()), exact(x, weight.t()));
    expect_rounded(product(g, weight), exact(g, weight));
    expect_rounded(product(g.t(), x), exact(g.t(), x));
  }
}

TEST_P(Product, WithoutDepthIsTheBias) {
  const auto bias = random({3});
  EXPECT_TRUE(at::equal(product(random({2, 0}), random({0, 3}), bias), bias.expand({2, 3})));
  EXPECT_EQ(product(random({0, 4}), random({4, 3})).sizes(), at::IntArrayRef({0, 3}));
}

TEST_P(Product, OfOtherTypesIsThatOfLibTorch) {
  const auto a = at::randn({9, 5}, at::kDouble);
  const auto b = at::randn({4, 5}, at::kDouble);
  const auto bias = at::randn({4}, at::kDouble);
  EXPECT_TRUE(at::equal(product(a, b.t(), bias), at::linear(a, b, bias)));
  EXPECT_TRUE(at::equal(product(a, b.t()), at::linear(a, b)));
  const auto sum = at::zeros({9, 4}, at::kDouble);
  add_product(sum, a, b.t(), 0.5);
  EXPECT_TRUE(at::allclose(sum, at::mm(a, b.t()) * 0.5));
}

TEST_P(Product, APackedWeightGivesTheSameBits) {
  for (const int64_t depth : {1, 64, 130, 1666, 3100}) {
    for (const int64_t columns : {5, 64, 70, 200}) {
      const auto weight = random({columns, depth});
      const auto bias = random({columns});
      for (const auto& b : {weight.t(), weight.t().contiguous()}) {
        const auto matrix = packed(b);
        EXPECT_EQ(matrix.panels.defined(), is_blocked() && (!multiplies_pairs() || depth % 2 == 0));
        for (const int64_t rows : {0, 1, 3, 11, 12, 50, 100}) {
          SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(depth) + " x " +
                       std::to_string(columns));
          const auto x = random({rows, depth});
          EXPECT_TRUE(at::equal(product(x, matrix, bias), product(x, b, bias)));
          const auto transposed = x.t().contiguous().t();
          if (!multiplies_pairs()) {
            EXPECT_TRUE(at::equal(product(transposed, matrix), product(transposed, b)));
          } else {  // the depth is split elsewhere if the left side is transposed
            expect_rounded(product(transposed, matrix), exact(x, b));
          }
        }
      }
    }
  }
  EXPECT_THROW(product(random({2, 3}), packed(random({4, 5}))), c10::Error);
}

TEST_P(Product, InBf16IsThatInFp32RoundedOnceIfThereAreNoInstructions) {
  if (is_single() || multiplies_bf16() || !is_blocked()) {
    GTEST_SKIP() << "for bf16 that is widened";
  }
  const auto single = [](const at::Tensor& x) { return x.to(at::kFloat); };
  for (const int64_t rows : {1, 7, 61, 441}) {
    for (const int64_t depth : {1, 33, 130, 1666}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(depth));
      const auto x = random({rows, depth});
      const auto weight = random({70, depth});
      const auto bias = random({70});
      const auto g = random({rows, 70});
      EXPECT_TRUE(
          at::equal(product(x, weight.t(), bias),
                    product(single(x), single(weight.t()), single(bias)).to(at::kBFloat16)));
      EXPECT_TRUE(
          at::equal(product(g, weight), product(single(g), single(weight)).to(at::kBFloat16)));
      const auto sum = random({70, depth});
      const auto wide = single(sum);
      add_product(wide, single(g).t(), single(x), 0.5);
      add_product(sum, g.t(), x, 0.5);
      EXPECT_TRUE(at::equal(sum, wide.to(at::kBFloat16)));
    }
  }
}

TEST_P(Product, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(product(random({2, 3}), random({4, 5})), c10::Error);
  EXPECT_THROW(product(random({2, 4}), random({4, 5}), random({4})), c10::Error);
  EXPECT_THROW(add_product(random({2, 6}), random({2, 4}), random({4, 5})), c10::Error);
}

TEST_P(Product, BitsOfARowDoNotDependOnHowManyThereAre) {
  if (!is_blocked()) {
    GTEST_SKIP() << "no blocks of this type here";
  }
  for (const int64_t depth : {64, 386, 1666, 3100}) {
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

TEST_P(Product, BitsDoNotDependOnTheNumberOfThreads) {
  const auto x = random({700, 300});
  const auto g = random({700, 210});
  const auto weight = random({210, 300});
  const auto start = random({210, 300});
  const auto once = [&] {
    const auto sum = start.clone();
    add_product(sum, g.t(), x);
    return std::vector<at::Tensor>{product(x, weight.t()), product(g, weight), sum};
  };
  const auto alone = comparison::with_threads(1, once);
  for (const int threads : {2, 3, 7}) {
    EXPECT_TRUE(comparison::same_bits(alone, comparison::with_threads(threads, once))) << threads;
  }
}

TEST_P(Product, FewRowsHaveTheSameBitsInAnyNumberOfThreads) {
  for (const int64_t depth : {16, 64, 3000}) {
    for (const int64_t rows : {1, 2, 3, 4, 5, 8, 11, 12, 16}) {
      const auto a = random({rows, depth});
      const auto b = random({depth, 150});
      const auto weight = b.t().contiguous();
      const auto bias = random({150});
      const auto all = [&] {
        const auto sum = at::ones({rows, 150}, a.options());
        add_product(sum, a, b, 0.5);
        return std::vector<at::Tensor>{product(a, b), product(a.t().contiguous().t(), b, bias),
                                       product(a, weight.t(), bias), sum};
      };
      const auto alone = comparison::with_threads(1, all);
      SCOPED_TRACE(std::to_string(rows) + " rows");
      expect_rounded(alone[0], exact(a, b));
      expect_rounded(alone[1], exact(a, b) + bias.to(at::kDouble));
      expect_rounded(alone[2], exact(a, b) + bias.to(at::kDouble));
      expect_rounded(alone[3], 1 + 0.5 * exact(a, b));
      for (const int threads : {2, 5}) {
        EXPECT_TRUE(comparison::same_bits(alone, comparison::with_threads(threads, all)))
            << threads;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Product, comparison::kVariants, comparison::variant_name);

}  // namespace
}  // namespace weft::kernels
