#include "kernels/embedding.h"

#include "kernels/compare.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

class EmbeddingSum : public comparison::EveryVariant {};

comparison::Operation fused_rows(const at::Tensor& ids,
                                 const at::Tensor& positions,
                                 const at::Tensor& types) {
  return [=](const auto& in) { return embedding_sum(in[0], ids, in[1], positions, in[2], types); };
}

comparison::Operation plain_rows(const at::Tensor& ids,
                                 const at::Tensor& positions,
                                 const at::Tensor& types) {
  return [=](const auto& in) {
    return reference::embedding_sum(in[0], ids, in[1], positions, in[2], types);
  };
}

TEST_P(EmbeddingSum, EqualsPlainReference) {
  for (const int64_t rows : {0, 1, 700}) {
    const auto ids = at::randint(50, {rows}, at::kLong);
    const auto positions = at::arange(rows, at::kLong).remainder(9);
    const auto types = at::zeros({rows}, at::kLong);  // one id more often than a segment is long
    comparison::expect_same(fused_rows(ids, positions, types), plain_rows(ids, positions, types),
                            {at::randn({50, 77}), at::randn({9, 77}), at::randn({2, 77})}, type());
  }
}

TEST_P(EmbeddingSum, TablesMayBeAbsent) {
  const auto ids = at::tensor({3, 0, 3}, at::kLong);
  comparison::expect_same(fused_rows(ids, {}, {}), plain_rows(ids, {}, {}),
                          {at::randn({4, 20}), {}, {}}, type());
}

TEST_P(EmbeddingSum, TheGradientOfALeafIsAddedToInPlace) {
  const auto table = at::randn({4, 20}).to(type()).requires_grad_(true);
  table.mutable_grad() = at::ones({4, 20}, type());
  const auto* const place = table.grad().data_ptr();
  const auto ids = at::tensor({3, 0, 3}, at::kLong);
  embedding_sum(table, ids, {}, {}, {}, {}).backward(at::ones({3, 20}, type()));
  EXPECT_EQ(table.grad().data_ptr(), place);
  const auto expected = at::tensor({2.0F, 1.0F, 1.0F, 3.0F}).unsqueeze(1).expand({4, 20});
  EXPECT_TRUE(at::equal(table.grad().to(at::kFloat), expected));
}

TEST_P(EmbeddingSum, NumberOfThreadsChangesNoBit) {
  const auto ids = at::randint(300, {2000}, at::kLong);
  const auto types = at::randint(2, {2000}, at::kLong);
  const std::vector<at::Tensor> tables{at::randn({300, 64}), {}, at::randn({2, 64})};
  const auto once = [&] { return comparison::run(fused_rows(ids, {}, types), tables, type()); };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, once), comparison::with_threads(3, once)));
}

INSTANTIATE_TEST_SUITE_P(Levels, EmbeddingSum, comparison::kVariants, comparison::variant_name);

class EmbeddingMean : public comparison::EveryVariant {};

TEST_P(EmbeddingMean, EqualsPlainReference) {
  const auto layout = Layout::from_offsets({0, 3, 3, 4, 700}, at::kCPU);  // one sequence is empty
  const auto ids = at::randint(20, {700}, at::kLong);  // ids more often than a segment is long
  for (const int64_t columns : {1, 10, 77}) {
    comparison::expect_same(
        [&](const auto& in) { return embedding_mean(in[0], ids, layout); },
        [&](const auto& in) { return reference::embedding_mean(in[0], ids, layout); },
        {at::randn({50, columns})}, type());
  }
}

TEST_P(EmbeddingMean, NumberOfThreadsChangesNoBit) {
  const auto layout = Layout::from_offsets({0, 900, 1000, 2000}, at::kCPU);
  const auto ids = at::randint(30, {2000}, at::kLong);
  const auto once = [&] {
    return comparison::run([&](const auto& in) { return embedding_mean(in[0], ids, layout); },
                           {at::ones({30, 64}) / 3}, type());
  };
  EXPECT_TRUE(
      comparison::same_bits(comparison::with_threads(1, once), comparison::with_threads(3, once)));
}

INSTANTIATE_TEST_SUITE_P(Levels, EmbeddingMean, comparison::kVariants, comparison::variant_name);

TEST(EmbeddingIds, OutOfRangeAreRefused) {
  const auto table = at::ones({4, 3});
  EXPECT_THROW(embedding_sum(table, at::tensor({4}, at::kLong), {}, {}, {}, {}), c10::Error);
  EXPECT_THROW(embedding_sum(table, at::tensor({-1}, at::kLong), {}, {}, {}, {}), c10::Error);
}

}  // namespace
}  // namespace weft::kernels
