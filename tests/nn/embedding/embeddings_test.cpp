#include "nn/embedding/embeddings.h"

#include <gtest/gtest.h>

#include "nn/position/position_types.h"
#include "support/context.h"
#include "support/tensors.h"

namespace weft::nn {
namespace {

constexpr int64_t kEmbeddingsDim = 4;

std::shared_ptr<EmbeddingsImpl> embeddings(int64_t offset, int64_t segments) {
  auto layer = std::make_shared<EmbeddingsImpl>(EmbeddingsOptions{
      .vocabulary = 6,
      .dim = kEmbeddingsDim,
      .segments = segments,
      .positions = {make_learned_position({.dim = kEmbeddingsDim, .length = 3, .offset = offset})},
      .norm = {.dim = kEmbeddingsDim, .epsilon = 1e-12},
      .dropout = 0.5});
  test::fill_parameters(*layer);
  test::set_parameters(*layer, {{"norm.weight", at::ones({kEmbeddingsDim})},
                                {"norm.bias", at::zeros({kEmbeddingsDim})}});
  return layer;
}

at::Tensor table(const std::shared_ptr<EmbeddingsImpl>& layer, const std::string& name) {
  return layer->named_parameters()[name].detach();
}

at::Tensor normed(const at::Tensor& x) {
  return at::layer_norm(x, {kEmbeddingsDim}, {}, {}, 1e-12);
}

TEST(Embeddings, AddWordPositionAndSegment) {
  auto layer = embeddings(0, 2);
  const auto y = layer->forward(at::tensor({5, 2, 4}, at::kLong), at::tensor({0, 1, 1}, at::kLong),
                                test::context_of({0, 2, 3}));
  const auto word = table(layer, "word.weight");
  const auto position = table(layer, "position.weight");
  const auto segment = table(layer, "segment.weight");
  const auto sum =
      at::stack({word[5] + position[0] + segment[0], word[2] + position[1] + segment[1],
                 word[4] + position[0] + segment[1]});  // positions restart in the second sequence
  EXPECT_TRUE(test::near(y, normed(sum)));
}

TEST(Embeddings, WithoutTypesAllAreOfTheFirstSegment) {
  auto layer = embeddings(0, 2);
  const auto ids = at::tensor({5, 2}, at::kLong);
  EXPECT_TRUE(test::near(layer->forward(ids, at::Tensor(), test::context_of({0, 2})),
                         layer->forward(ids, at::zeros_like(ids), test::context_of({0, 2})), 0));
}

TEST(Embeddings, PositionsBeginAfterTheOffset) {
  auto layer = embeddings(2, 0);
  const auto y =
      layer->forward(at::tensor({5, 2}, at::kLong), at::Tensor(), test::context_of({0, 2}));
  const auto word = table(layer, "word.weight");
  const auto position = table(layer, "position.weight");
  EXPECT_EQ(position.size(0), 5);
  EXPECT_TRUE(test::near(y, normed(at::stack({word[5] + position[2], word[2] + position[3]}))));
}

TEST(Embeddings, SequencesLongerThanThePositionsAreRefused) {
  auto layer = embeddings(0, 2);
  EXPECT_THROW(
      layer->forward(at::tensor({1, 1, 1, 1}, at::kLong), at::Tensor(), test::context_of({0, 4})),
      c10::Error);
}

TEST(Embeddings, DropoutIsOnlyActiveInTraining) {
  auto layer = embeddings(0, 2);
  auto context = test::context_of({0, 2});
  const auto ids = at::tensor({5, 2}, at::kLong);
  const auto plain = layer->forward(ids, at::Tensor(), context);
  context.is_training = true;
  EXPECT_FALSE(test::near(layer->forward(ids, at::Tensor(), context), plain));
}

}  // namespace
}  // namespace weft::nn
