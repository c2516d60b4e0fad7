#include "data/batch.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace weft::data {
namespace {

TEST(Batch, ConcatenatesExamples) {
  Batch batch;
  Example first;
  first.ids = {2, 7, 3};
  first.token_type_ids = {0, 0, 0};
  first.target_positions = {1};
  first.targets = {9};
  first.label = 1;
  Example second;
  second.ids = {2, 8, 4, 3};
  second.token_type_ids = {0, 0, 1, 1};
  second.target_positions = {1, 2};
  second.targets = {5, 6};
  first.values = {0, 1};
  second.values = {0.5, 2};
  batch.add(41, first);
  batch.add(17, second);
  EXPECT_EQ(batch.sequences(), 2);
  EXPECT_EQ(batch.tokens(), 7);
  EXPECT_EQ(batch.items, (std::vector<int64_t>{41, 17}));
  EXPECT_EQ(batch.ids, (std::vector<int64_t>{2, 7, 3, 2, 8, 4, 3}));
  EXPECT_EQ(batch.token_type_ids, (std::vector<int64_t>{0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(batch.offsets, (std::vector<int64_t>{0, 3, 7}));
  EXPECT_EQ(batch.target_rows, (std::vector<int64_t>{1, 4, 5}));
  EXPECT_EQ(batch.targets, (std::vector<int64_t>{9, 5, 6}));
  EXPECT_EQ(batch.labels, (std::vector<int64_t>{1, kIgnoreIndex}));
  EXPECT_EQ(batch.values, (std::vector<double>{0, 1, 0.5, 2}));
}

TEST(Batch, AllExamplesHavePositionsOfTheirOwnOrNone) {
  Example halves;
  halves.ids = {2, 7, 3, 2, 3};
  halves.positions = {0, 1, 2, 0, 1};
  Batch batch;
  batch.add(0, halves);
  batch.add(1, halves);
  EXPECT_EQ(batch.positions, (std::vector<int64_t>{0, 1, 2, 0, 1, 0, 1, 2, 0, 1}));
  halves.positions.clear();
  EXPECT_THROW(batch.add(2, halves), std::invalid_argument);
  halves.positions = {0};
  EXPECT_THROW(Batch().add(0, halves), std::invalid_argument);
}

TEST(Batch, RefusesExamplesThatDisagree) {
  Example typed;
  typed.ids = {2, 3};
  typed.token_type_ids = {0, 0};
  Example untyped;
  untyped.ids = {2, 3};
  Batch batch;
  batch.add(0, typed);
  EXPECT_THROW(batch.add(1, untyped), std::invalid_argument);
  typed.token_type_ids.pop_back();
  EXPECT_THROW(batch.add(1, typed), std::invalid_argument);
  untyped.target_positions = {0};
  EXPECT_THROW(Batch().add(0, untyped), std::invalid_argument);
}

}  // namespace
}  // namespace weft::data
