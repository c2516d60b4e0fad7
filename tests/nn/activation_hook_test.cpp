#include "nn/activation_hook.h"

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "nn/stack.h"

namespace weft::nn {
namespace {

/// Notes the parts, and adds a number to one of them.
class Noting : public ActivationHook {
 public:
  Noting(std::string part, double added) : part_(std::move(part)), added_(added) {}

  at::Tensor on_activation(const std::string& part, const at::Tensor& x) override {
    parts.push_back(part);
    last = x;
    return part == part_ ? x + added_ * at::arange(x.size(1), at::kFloat).sin() : x;
  }

  std::vector<std::string> parts;
  at::Tensor last;

 private:
  std::string part_;
  double added_;
};

TEST(ActivationHook, HooksReadAndReplaceActivations) {
  Stack stack({.layers = 2,
               .block = {.attention = {.dim = 8, .heads = 2},
                         .feed_forward = {.dim = 8, .width = 16},
                         .norm = {.dim = 8}}});
  for (auto& item : stack.named_parameters()) {
    item.value().set_data(at::ones_like(item.value()) / 8);
  }
  ForwardContext context;
  context.layout = kernels::Layout::from_offsets({0, 3}, at::kCPU);
  const auto x = at::arange(24, at::kFloat).mul(0.7).cos().view({3, 8});
  const auto plain = stack.forward(x, context);
  Noting older("layers.0", 1);
  {
    Noting newer("", 0);
    EXPECT_FALSE(stack.forward(x, context).equal(plain)) << "what a probe returns goes on";
    EXPECT_EQ(newer.parts, (std::vector<std::string>{"embeddings", "layers.0", "layers.1"}));
    EXPECT_EQ(newer.parts, older.parts);
    stack.forward_selected(x, context, RowSelection::first_tokens(context));
    EXPECT_EQ(newer.parts.size(), 6U);
    const auto shown = ActivationHook::run_hooks("embeddings", x);
    EXPECT_TRUE(newer.last.equal(x));
    ActivationHook::run_hooks(std::size_t{0}, x);
    EXPECT_FALSE(newer.last.equal(x)) << "the older one comes first";
  }
  ActivationHook::run_hooks("embeddings", x);
  EXPECT_EQ(older.parts.size(), 9U);
}

}  // namespace
}  // namespace weft::nn
