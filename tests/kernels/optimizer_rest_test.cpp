#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "kernels/compare.h"
#include "kernels/optimizer.h"

// Updates skip blocks that are known to be zero; the result must be bit-identical.
namespace weft::kernels {
namespace {

constexpr int64_t kBlocks = 9;
constexpr int64_t kSize = kBlocks * kUpdateBlock + 77;  // the last block is short
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct State {
  at::Tensor master, compute, first, second;

  explicit State(at::ScalarType type)
      : master(at::randn({kSize})), first(at::zeros({kSize})), second(at::zeros({kSize})) {
    const std::vector<float> odd = {0.0F,
                                    -0.0F,
                                    1e-45F,
                                    -1e-38F,
                                    kInfinity,
                                    -kInfinity,
                                    std::numeric_limits<float>::quiet_NaN()};
    for (int64_t block = 0; block < kBlocks; ++block) {
      for (std::size_t i = 0; i < odd.size(); ++i) {
        master[block * kUpdateBlock + static_cast<int64_t>(5 * i)] = odd[i];
      }
    }
    if (type == at::kBFloat16) {
      compute = at::empty({kSize}, type);
      adamw(slice(at::zeros({kSize})), {.lr = 0}, 1.0);  // writes NaNs as later updates do
    }
  }
  State copy() const {
    auto other = *this;
    for (auto* tensor : {&other.master, &other.compute, &other.first, &other.second}) {
      *tensor = tensor->defined() ? tensor->clone() : *tensor;
    }
    return other;
  }
  UpdateSlice slice(const at::Tensor& gradient) const {
    return {.master = master,
            .compute = compute,
            .gradient = gradient,
            .first = first,
            .second = second};
  }
};

// NaNs too are compared by their bits.
bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  const auto bits = [](const at::Tensor& x) {
    return x.view(x.scalar_type() == at::kFloat ? at::kInt : at::kShort);
  };
  return !a.defined() || at::equal(bits(a), bits(b));
}

void expect_same_bytes(const State& a, const State& b) {
  EXPECT_TRUE(same_bytes(a.master, b.master));
  EXPECT_TRUE(same_bytes(a.compute, b.compute));
  EXPECT_TRUE(same_bytes(a.first, b.first));
  EXPECT_TRUE(same_bytes(a.second, b.second));
}

class OptimizerRest : public comparison::EveryVariant {
 protected:
  // Blocks 0 and 5 rest for ever, the others wake up one after the other and have a gradient now
  // and then.
  at::Tensor gradient(int64_t step) const {
    const auto x = at::zeros({kSize});
    for (int64_t block = 0; block <= kBlocks; ++block) {
      if (block % 5 != 0 && step >= block / 2 && (step + block) % 3 == 0) {
        x.slice(0, block * kUpdateBlock, (block + 1) * kUpdateBlock).normal_();
      }
    }
    if (step == 2) {
      x[3 * kUpdateBlock + 9] = -0.0F;
    }
    return x.to(type());
  }

  // `update(slice, step)` with and without information about zero blocks.
  template <class Update>
  void expect_marks_change_nothing(const Update& update) {
    const State knows(type());
    const auto plods = knows.copy();
    NonzeroBlocks nonzero_moments(kBlocks + 1);
    for (int64_t step = 1; step <= 7; ++step) {
      const auto g = gradient(step);
      const auto live = squared_norm(g).nonzero_blocks;
      auto slice = knows.slice(g.clone());
      slice.nonzero_gradient = live.data();
      slice.nonzero_moments = nonzero_moments.data();
      update(slice, step);
      update(plods.slice(g), step);
      EXPECT_TRUE(same_bytes(slice.gradient, at::zeros_like(g))) << step;
      EXPECT_TRUE(same_bytes(g, at::zeros_like(g))) << step;
      expect_same_bytes(knows, plods);
      for (int64_t block = 0; block < kBlocks; ++block) {
        const auto is_zero = [&](const at::Tensor& x) {
          return squared_norm(x.slice(0, block * kUpdateBlock, (block + 1) * kUpdateBlock))
                     .nonzero_blocks[0] == 0;
        };
        EXPECT_TRUE(nonzero_moments[block] != 0 || (is_zero(knows.first) && is_zero(knows.second)))
            << step << ", " << block;
      }
    }
  }
};

TEST_P(OptimizerRest, AdamwIsBitIdentical) {
  for (const double weight_decay : {0.0, 0.1}) {
    for (const double lr : {0.0, 1e-2}) {
      expect_marks_change_nothing([&](const UpdateSlice& slice, int64_t step) {
        adamw(slice, {.lr = lr, .weight_decay = weight_decay, .step = step}, 0.5);
      });
    }
  }
}

TEST_P(OptimizerRest, AdamwIsBitIdenticalWithZeroGradients) {
  for (const auto& [lr, epsilon, scale] :
       {std::tuple(1e-2, 0.0, 0.5), std::tuple(1e38, 1e-8, 0.5),
        std::tuple(1e-2, 1e-8, std::numeric_limits<double>::infinity()),
        std::tuple(1e-2, 1e-8, -1.0)}) {
    expect_marks_change_nothing([&](const UpdateSlice& slice, int64_t step) {
      adamw(slice, {.lr = lr, .epsilon = epsilon, .weight_decay = 0.1, .step = step}, scale);
    });
  }
}

TEST_P(OptimizerRest, SgdChangesNoBit) {
  for (const double momentum : {0.0, 0.9}) {
    for (const double weight_decay : {0.0, 0.1}) {
      expect_marks_change_nothing([&](const UpdateSlice& slice, int64_t step) {
        sgd(slice,
            {.lr = 1e-2,
             .momentum = momentum,
             .weight_decay = weight_decay,
             .is_first_step = step == 1},
            0.5);
      });
    }
  }
}

// Skipped blocks are neither read nor written: values under wrong marks stay unchanged.
TEST_P(OptimizerRest, BlocksMarkedAsZeroAreNotTouched) {
  const State state(type());
  const auto before = state.copy();
  const auto gradient = at::ones({kSize}).to(type());
  const NonzeroBlocks live(kBlocks + 1);
  NonzeroBlocks nonzero_moments(kBlocks + 1);
  auto slice = state.slice(gradient);
  slice.nonzero_gradient = live.data();
  slice.nonzero_moments = nonzero_moments.data();
  adamw(slice, {.lr = 1e-2, .step = 1}, 1.0);
  expect_same_bytes(state, before);
  EXPECT_TRUE(at::equal(gradient, at::ones_like(gradient)));
  EXPECT_EQ(nonzero_moments, live);
}

INSTANTIATE_TEST_SUITE_P(Levels, OptimizerRest, comparison::kVariants, comparison::variant_name);

}  // namespace
}  // namespace weft::kernels
