#include "train/optimizer/optimizer.h"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "support/config.h"
#include "train/optimizer/parameter_groups.h"

namespace weft::train {
namespace {

using OptimizerKeys = std::vector<std::pair<std::string, std::string>>;

OptimizerOptions options_of(const OptimizerKeys& keys) {
  return read_optimizer_options(test::section("train.optimizer", keys));
}

const OptimizerKeys kAdamwKeys = {
    {"betas", "[0.8, 0.95]"}, {"epsilon", "1e-6"}, {"weight_decay", "0.3"}};

class OptimizerToy : public torch::nn::Module {
 public:
  explicit OptimizerToy(uint64_t seed = 1) {
    at::manual_seed(seed);
    matrix_ = register_parameter("matrix", at::randn({13, 7}));
    vector_ = register_parameter("vector", at::randn({31}));
  }
  at::Tensor matrix_, vector_;
};

// Result of the library's fused optimizer for the same parameter and gradients, one parameter at a
// time.
struct Reference {
  at::Tensor parameter, first, second;
  explicit Reference(const at::Tensor& start)
      : parameter(start.detach().clone()),
        first(at::zeros_like(start)),
        second(at::zeros_like(start)) {}

  void adamw(const at::Tensor& gradient, double lr, double decay, int64_t step) {
    auto count = at::full({}, static_cast<double>(step), at::kFloat);
    at::_fused_adamw_({parameter}, {gradient}, {first}, {second}, {}, {count}, lr, 0.8, 0.95, decay,
                      1e-6, false, false);
  }
  void sgd(const at::Tensor& gradient, double lr, double decay, bool is_first) {
    at::_fused_sgd_({parameter}, {gradient}, {first}, decay, 0.9, lr, 0.0, false, false, is_first);
  }
};

class OptimizerTest : public ::testing::Test {
 protected:
  void fill_gradients(const FlatParameters& flat_parameters, int64_t step) {
    at::manual_seed(static_cast<uint64_t>(step) + 100);
    for (const auto& entry : flat_parameters.entries()) {
      FlatParameters::parameter_view(flat_parameters.gradient(), entry)
          .copy_(at::randn(entry.parameter.sizes()));
    }
  }
};

TEST_F(OptimizerTest, AdamwEqualsTheLibrarysFusedOne) {
  OptimizerToy toy;
  Reference matrix(toy.matrix_);
  Reference vector(toy.vector_);
  const at::NoGradGuard no_grad;
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  Optimizer optimizer(options_of(kAdamwKeys), flat_parameters);
  for (int64_t step = 1; step <= 5; ++step) {
    fill_gradients(flat_parameters, step);
    const double lr = 0.01 * static_cast<double>(step);
    matrix.adamw(toy.matrix_.grad() * 0.5, lr, 0.3, step);
    vector.adamw(toy.vector_.grad() * 0.5, lr, 0.0, step);
    optimizer.update(flat_parameters.gradient(), lr, 0.5);
  }
  EXPECT_EQ(optimizer.updates(), 5);
  EXPECT_TRUE(at::allclose(toy.matrix_, matrix.parameter, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(toy.vector_, vector.parameter, 1e-5, 1e-6));
}

TEST_F(OptimizerTest, SgdEqualsTheLibrarysFusedOne) {
  OptimizerToy toy;
  Reference matrix(toy.matrix_);
  Reference vector(toy.vector_);
  const at::NoGradGuard no_grad;
  const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kMatrices);
  Optimizer optimizer(options_of({{"type", "sgd"}, {"momentum", "0.9"}, {"weight_decay", "0.2"}}),
                      flat_parameters);
  for (int64_t step = 1; step <= 5; ++step) {
    fill_gradients(flat_parameters, step);
    matrix.sgd(toy.matrix_.grad() * 0.5, 0.05, 0.2, step == 1);
    vector.sgd(toy.vector_.grad() * 0.5, 0.05, 0.0, step == 1);
    optimizer.update(flat_parameters.gradient(), 0.05, 0.5);
  }
  EXPECT_TRUE(at::allclose(toy.matrix_, matrix.parameter, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(toy.vector_, vector.parameter, 1e-5, 1e-6));
}

TEST_F(OptimizerTest, RefreshesTheBf16CopyAndZeroesTheGradient) {
  for (const auto* type : {"adamw", "sgd", "lion"}) {
    OptimizerToy toy;
    const at::NoGradGuard no_grad;
    const FlatParameters flat_parameters(toy, at::kBFloat16, DecayOn::kMatrices);
    const auto before = flat_parameters.compute().clone();
    Optimizer optimizer({.type = type}, flat_parameters);
    fill_gradients(flat_parameters, 1);
    optimizer.update(flat_parameters.gradient(), 0.1, 1.0);
    EXPECT_FALSE(at::equal(flat_parameters.compute(), before)) << type;
    EXPECT_TRUE(at::equal(flat_parameters.compute(), flat_parameters.master().to(at::kBFloat16)))
        << type;
    EXPECT_EQ(flat_parameters.gradient().count_nonzero().item<int64_t>(), 0) << type;
  }
}

TEST_F(OptimizerTest, EachGroupFollowsItsOwnRuleRateAndDecay) {
  OptimizerToy toy;
  Reference matrix(toy.matrix_);
  Reference vector(toy.vector_);
  const at::NoGradGuard no_grad;
  auto keys = kAdamwKeys;
  keys.emplace_back("lr", "0.02");
  keys.emplace_back("groups",
                    "[{parameters: vector, type: sgd, lr: 0.1, weight_decay: 0.2, decay_on: all}]");
  const auto options = options_of(keys);
  const FlatParameters flat_parameters(toy, at::kFloat, parameter_settings(options, toy));
  Optimizer optimizer(options, flat_parameters);
  for (int64_t step = 1; step <= 5; ++step) {
    fill_gradients(flat_parameters, step);
    const double factor = 1.0 / static_cast<double>(step);  // of the schedule
    matrix.adamw(toy.matrix_.grad(), 0.02 * factor, 0.3, step);
    vector.sgd(toy.vector_.grad(), 0.1 * factor, 0.2, step == 1);
    optimizer.update(flat_parameters.gradient(), 0.02 * factor, 1.0);
  }
  EXPECT_TRUE(at::allclose(toy.matrix_, matrix.parameter, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(toy.vector_, vector.parameter, 1e-5, 1e-6));
  std::vector<std::string> names;
  for (const auto& [name, flat] : optimizer.moments()) {
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"first_moment", "second_moment", "momentum"}));
}

TEST_F(OptimizerTest, FrozenParametersDoNotMoveByABitAndHaveNoState) {
  for (const auto* type : {"adamw", "sgd", "lion"}) {
    OptimizerToy toy;
    toy.matrix_.set_requires_grad(false);
    const auto before = toy.matrix_.detach().clone();
    const auto vector = toy.vector_.detach().clone();
    const at::NoGradGuard no_grad;
    const FlatParameters flat_parameters(toy, at::kFloat, DecayOn::kAll);
    Optimizer optimizer({.type = type, .weight_decay = 0.5}, flat_parameters);
    for (int step = 0; step < 3; ++step) {
      flat_parameters.gradient().fill_(1);
      optimizer.update(flat_parameters.gradient(), 0.1, 1.0);
    }
    EXPECT_TRUE(at::equal(toy.matrix_, before));
    EXPECT_FALSE(at::equal(toy.vector_, vector));
    for (const auto& [name, flat] : optimizer.moments()) {
      EXPECT_EQ(flat.numel(), flat_parameters.trained_size()) << name;
    }
  }
}

TEST_F(OptimizerTest, RateOfASegmentMultipliesRateAndDecay) {
  OptimizerToy toy;
  Reference matrix(toy.matrix_);
  Reference vector(toy.vector_);
  const at::NoGradGuard no_grad;
  const FlatParameters flat_parameters(
      toy, at::kFloat, [](const std::string& name, const at::Tensor& /*parameter*/) {
        return ParameterSettings{.decays = name == "matrix",
                                 .lr_scale = name == "matrix" ? 0.25 : 3.0};
      });
  Optimizer optimizer(options_of(kAdamwKeys), flat_parameters);
  for (int64_t step = 1; step <= 3; ++step) {
    fill_gradients(flat_parameters, step);
    matrix.adamw(toy.matrix_.grad(), 0.25 * 0.02, 0.3, step);
    vector.adamw(toy.vector_.grad(), 3.0 * 0.02, 0.0, step);
    optimizer.update(flat_parameters.gradient(), 0.02, 1.0);
  }
  EXPECT_TRUE(at::allclose(toy.matrix_, matrix.parameter, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(toy.vector_, vector.parameter, 1e-5, 1e-6));
}

// Two with the same rules, which do not share a scale, and one that is all zeros.
class Pair : public torch::nn::Module {
 public:
  Pair() {
    at::manual_seed(5);
    small_ = register_parameter("small", 0.02 * at::randn({13, 7}));
    large_ = register_parameter("large", 4 * at::randn({5, 9}));
    zero_ = register_parameter("zero", at::zeros({31}));
  }
  at::Tensor small_, large_, zero_;
};

TEST_F(OptimizerTest, ScalesEachRateByTheSizeOfItsParameter) {
  Pair pair;
  std::vector<Reference> references;
  for (const auto& parameter : {pair.small_, pair.large_, pair.zero_}) {
    references.emplace_back(parameter);
  }
  const at::NoGradGuard no_grad;
  auto keys = kAdamwKeys;
  keys.emplace_back("scale_parameter", "true");
  const auto options = options_of(keys);
  const FlatParameters flat_parameters(pair, at::kFloat, parameter_settings(options, pair));
  Optimizer optimizer(options, flat_parameters);
  for (int64_t step = 1; step <= 4; ++step) {
    fill_gradients(flat_parameters, step);
    for (std::size_t i = 0; i < references.size(); ++i) {
      auto& reference = references[i];
      const double size = reference.parameter.square().mean().sqrt().item<double>();
      if (i == 2 && step == 1) {
        EXPECT_EQ(size, 0);
      }
      reference.adamw(flat_parameters.entries()[i].parameter.grad(), 0.05 * std::max(1e-3, size),
                      i < 2 ? 0.3 : 0.0, step);
    }
    optimizer.update(flat_parameters.gradient(), 0.05, 1.0);
    for (std::size_t i = 0; i < references.size(); ++i) {
      EXPECT_TRUE(
          at::allclose(flat_parameters.entries()[i].parameter, references[i].parameter, 1e-5, 1e-8))
          << step << " " << flat_parameters.entries()[i].name;
    }
  }
}

// A table whose rows are in several blocks, and the result of training it.
class Table : public torch::nn::Module {
 public:
  Table() {
    at::manual_seed(3);
    rows_ = register_parameter("rows", at::randn({40, 96}));
    bias_ = register_parameter("bias", at::randn({96}));
  }
  at::Tensor rows_, bias_;
};

struct Training {
  Table table;
  FlatParameters flat_parameters;
  Optimizer optimizer;

  Training(const OptimizerOptions& options, at::ScalarType type)
      : flat_parameters(table, type, parameter_settings(options, table)),
        optimizer(options, flat_parameters) {}

  // Steps have the gradient of a few rows that differ from step to step.
  void step(int64_t step, bool knows_marks) {
    const at::NoGradGuard no_grad;
    at::manual_seed(static_cast<uint64_t>(step) + 7);
    const auto rows =
        FlatParameters::parameter_view(flat_parameters.gradient(), flat_parameters.at("rows"));
    for (const int64_t row : {step, 3 * step, 39 - step}) {
      rows[row].copy_(at::randn({96}));
    }
    const auto nonzero_blocks = kernels::squared_norm(flat_parameters.gradient()).nonzero_blocks;
    EXPECT_GT(std::count(nonzero_blocks.begin(), nonzero_blocks.end(), 0), 3);
    optimizer.update(flat_parameters.gradient(), 0.01, 0.5,
                     knows_marks ? nonzero_blocks : kernels::NonzeroBlocks{});
    EXPECT_EQ(flat_parameters.gradient().count_nonzero().item<int64_t>(), 0);
  }
  void copy_from(const Training& other) {
    const at::NoGradGuard no_grad;
    flat_parameters.master().copy_(other.flat_parameters.master());
    flat_parameters.refresh_compute_copy();
    for (std::size_t i = 0; i < optimizer.moments().size(); ++i) {
      optimizer.moments()[i].second.copy_(other.optimizer.moments()[i].second);
    }
    optimizer.resume(other.optimizer.updates());
  }
};

void expect_same_bits(const Training& actual, const Training& expected) {
  EXPECT_TRUE(at::equal(actual.flat_parameters.master(), expected.flat_parameters.master()));
  if (expected.flat_parameters.compute().defined()) {
    EXPECT_TRUE(at::equal(actual.flat_parameters.compute(), expected.flat_parameters.compute()));
  }
  for (std::size_t i = 0; i < expected.optimizer.moments().size(); ++i) {
    EXPECT_TRUE(
        at::equal(actual.optimizer.moments()[i].second, expected.optimizer.moments()[i].second));
  }
}

const std::vector<OptimizerKeys> kOptimizers = {
    {{"weight_decay", "0.1"}},
    {{"weight_decay", "0"}},
    {{"type", "sgd"}, {"momentum", "0.9"}, {"weight_decay", "0.1"}},
    {{"type", "sgd"}, {"momentum", "0.9"}, {"weight_decay", "0"}},
    {{"type", "sgd"}, {"momentum", "0"}, {"weight_decay", "0"}},
    {{"type", "lion"}, {"weight_decay", "0"}},
    {{"type", "sgd"}, {"groups", "[{parameters: rows, type: adamw, lr: 1e-3, weight_decay: 0}]"}}};

TEST_F(OptimizerTest, BlocksThatRestEqualThoseThatAreUpdated) {
  for (const auto& keys : kOptimizers) {
    const auto options = options_of(keys);
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      Training knows(options, type);
      Training plods(options, type);
      for (int64_t step = 0; step < 8; ++step) {
        knows.step(step, true);
        plods.step(step, false);
        expect_same_bits(knows, plods);
      }
    }
  }
}

TEST_F(OptimizerTest, ResumesWithTheMomentsThatWereLoaded) {
  for (const auto& keys : kOptimizers) {
    const auto options = options_of(keys);
    Training whole(options, at::kBFloat16);
    for (int64_t step = 0; step < 4; ++step) {
      whole.step(step, true);
    }
    Training resumed(options, at::kBFloat16);
    resumed.copy_from(whole);
    for (int64_t step = 4; step < 6; ++step) {
      whole.step(step, true);
      resumed.step(step, true);
    }
    expect_same_bits(resumed, whole);
  }
}

// Each number's update depends on that number alone, so groups of equal settings change no bit.
TEST_F(OptimizerTest, GroupsOfEqualSettingsEqualOneGroup) {
  for (const OptimizerKeys& keys :
       {OptimizerKeys{{"betas", "[0.5, 0.6]"}, {"epsilon", "1e-3"}, {"weight_decay", "0.1"}},
        OptimizerKeys{{"type", "sgd"}, {"momentum", "0.4"}, {"weight_decay", "0.1"}},
        OptimizerKeys{{"type", "lion"}, {"betas", "[0.5, 0.6]"}, {"weight_decay", "0.1"}}}) {
    auto split = keys;
    split.emplace_back("groups", "[{parameters: rows}]");
    Training one(options_of(keys), at::kBFloat16);
    Training two(options_of(split), at::kBFloat16);
    EXPECT_NE(one.flat_parameters.at("rows").begin, two.flat_parameters.at("rows").begin);
    for (int64_t step = 0; step < 4; ++step) {
      one.step(step, true);
      two.step(step, true);
    }
    EXPECT_TRUE(at::equal(one.table.rows_, two.table.rows_)) << keys.front().second;
    EXPECT_TRUE(at::equal(one.table.bias_, two.table.bias_)) << keys.front().second;
  }
}

}  // namespace
}  // namespace weft::train
