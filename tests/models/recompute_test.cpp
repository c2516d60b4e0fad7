// Gradients of models with activation checkpointing.
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "kernels/cross_entropy.h"
#include "models/adapters/lora.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

using Gradients = std::vector<std::pair<std::string, at::Tensor>>;

TextInput input_of(const Model& model) {
  TextInput input{.ids = at::arange(9, at::kLong) * 5 % 19 + 1, .types = {}};
  if (model.options().type_vocab_size > 1) {
    input.types = at::arange(9, at::kLong) % 2;
  }
  return input;
}

nn::ForwardContext training_context(bool recomputes) {
  auto context = test::context_of({0, 5, 9});
  context.is_training = true;
  context.seed = 3;
  context.recomputes_layers = recomputes;
  return context;
}

at::Tensor loss_of(Model& model, const nn::ForwardContext& context) {
  const auto input = input_of(model);
  if (model.options().head == Head::kSequence) {
    return kernels::cross_entropy_sum(model.classify(input, context),
                                      at::tensor({1, 2}, at::kLong));
  }
  const auto rows = model.hidden(input, context).index_select(0, at::tensor({1, 3, 6}, at::kLong));
  return kernels::linear_cross_entropy(model.token_features(rows), model.output_weight(),
                                       model.output_bias(), at::tensor({4, 7, 9}, at::kLong));
}

/// Gradients on top of those that are there, as of a second micro-batch; two passes share the
/// model, as R-Drop has it.
Gradients gradients(Model& model, bool recomputes, bool adds_to_others) {
  test::clear_gradients(model);
  for (auto& item : model.named_parameters()) {
    if (item.value().requires_grad() && adds_to_others) {
      item.value().mutable_grad() = at::full_like(item.value().detach(), 0.37);
    }
  }
  auto second = training_context(recomputes);
  second.seed = 4;
  (loss_of(model, training_context(recomputes)) + loss_of(model, second)).backward();
  Gradients found;
  for (const auto& item : model.named_parameters()) {
    if (item.value().grad().defined()) {
      found.emplace_back(item.key(), item.value().grad().clone());
    }
  }
  return found;
}

void expect_same_bits(Model& model, const std::string& what) {
  for (const bool adds : {false, true}) {
    const auto plain = gradients(model, false, adds);
    const auto again = gradients(model, true, adds);
    ASSERT_EQ(plain.size(), again.size()) << what;
    ASSERT_FALSE(plain.empty());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(at::equal(plain[i].second, again[i].second)) << what << " " << plain[i].first;
    }
  }
}

void narrow(Model& model) {
  for (auto& item : model.named_parameters()) {
    const bool is_trained = item.value().requires_grad();
    item.value().set_data(item.value().detach().to(at::kBFloat16));
    item.value().set_requires_grad(is_trained);
  }
}

ModelOptions recompute_options_of(Family family, Head head) {
  auto options = test::tiny_options(family, head);
  options.dropout = 0.3;
  options.attention_dropout = 0.2;
  return options;
}

TEST(Recompute, GradientsOfEveryFamilyHaveTheSameBits) {
  for (const auto family : test::transformers()) {
    for (const auto head : {Head::kMaskedLm, Head::kSequence}) {
      if (!has_head(family, head)) {
        continue;
      }
      const auto model = make_model(recompute_options_of(family, head), 1);
      const std::string what =
          std::string(word_of(family)) + (head == Head::kSequence ? " classifies" : " guesses");
      expect_same_bits(*model, what);
      narrow(*model);
      expect_same_bits(*model, what + " in bf16");
    }
  }
}

TEST(Recompute, WorksAboveFrozenLayers) {
  for (const auto head : {Head::kMaskedLm, Head::kSequence}) {
    const auto model = make_model(recompute_options_of(family_named("roberta"), head), 1);
    for (auto& item : model->named_parameters()) {
      const auto& name = item.key();
      item.value().set_requires_grad(!name.starts_with("embeddings.") &&
                                     !name.starts_with("layers.0.attention"));
    }
    expect_same_bits(*model, "frozen embeddings");
    for (auto& item : model->named_parameters()) {
      item.value().set_requires_grad(!item.key().starts_with("embeddings.") &&
                                     !item.key().starts_with("layers.0."));
    }
    expect_same_bits(*model, "a frozen layer");
  }
}

TEST(Recompute, AdaptersLearnTheSame) {
  const auto model = make_model(recompute_options_of(family_named("bert"), Head::kSequence), 1);
  Lora lora;
  lora.options.rank = 2;
  lora.options.alpha = 4;
  lora.options.dropout = 0.2;
  lora.options.targets = {"query", "value"};
  lora.layers = lora_layers(model->options(), lora.options);
  lora.modules_to_save = {Part::kHead};
  attach_lora(*model, lora, 1);
  {
    const at::NoGradGuard guard;
    for (auto& item : model->named_parameters()) {
      if (item.key().find("lora_b") != std::string::npos) {
        item.value().fill_(0.1);
      }
    }
  }
  expect_same_bits(*model, "adapters");
}

}  // namespace
}  // namespace weft::models
