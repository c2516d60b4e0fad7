#include "nn/decoding_state.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace weft::nn {
namespace {

DecodingState read_state(const std::vector<int64_t>& counts) {
  DecodingState state(static_cast<int64_t>(counts.size()));
  state.begin_step(counts, at::kCPU);
  return state;
}

TEST(DecodingState, TruncatesToAnyLengthAfterTheMark) {
  auto state = read_state({3, 5});
  state.mark();
  state.begin_step({2, 2}, at::kCPU);
  EXPECT_THROW(state.truncate({2, 7}), c10::Error);
  EXPECT_THROW(state.truncate({6, 7}), c10::Error);
  state.truncate({4, 7});
  EXPECT_EQ(state.lengths(), (std::vector<int64_t>{4, 7}));
  EXPECT_EQ(state.begin_step({1, 1}, at::kCPU).position_limit, 8);
  EXPECT_EQ(state.previous_lengths(), (std::vector<int64_t>{4, 7}));
}

TEST(DecodingState, StatesOfSequencesGoBackToTheMark) {
  auto state = read_state({3, 5});
  state.sequence_tensor(0, "state") = at::arange(2);
  state.mark();
  state.begin_step({2, 2}, at::kCPU);
  state.sequence_tensor(0, "state") = at::arange(2) + 10;
  state.reorder({1});
  state.truncate({7});  // nothing to forget
  EXPECT_EQ(state.sequence_tensor(0, "state").item<int64_t>(), 11);
  state.truncate({6});
  EXPECT_EQ(state.lengths(), (std::vector<int64_t>{5}));
  EXPECT_EQ(state.sequence_tensor(0, "state").item<int64_t>(), 1);
}

}  // namespace
}  // namespace weft::nn
