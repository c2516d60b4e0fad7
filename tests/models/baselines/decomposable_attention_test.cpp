#include "models/baselines/decomposable_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/config/presets.h"
#include "models/directory.h"
#include "models/tiny.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

using Ids = std::vector<int64_t>;

ModelOptions pairs(bool has_intra = false) {
  auto options = family_defaults(family_named("decomposable_attention"));
  options.head = Head::kSequence;
  options.vocabulary = 20;
  options.labels = {"no", "perhaps", "yes"};
  options.bos_id = 2;
  options.eos_id = 3;
  options.embedding_size = 6;
  options.dim = 5;
  options.decomposable = {.hidden = 4, .intra_attention = has_intra, .distance = 2};
  return options;
}

std::shared_ptr<Model> decomposable_model_of(const ModelOptions& options) {
  auto model = make_model(options, 3);
  test::fill_parameters(*model);
  return model;
}

// Three pairs; of the last the second text is empty.
const Ids kIds = {2, 5, 9, 11, 3, 8, 7, 3, 2, 4, 3, 6, 10, 12, 13, 14, 3, 2, 15, 16, 3, 3};
const Ids kTypes = {0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1};
const Ids kOffsets = {0, 8, 17, 22};

at::Tensor logits_of(Model& model, const Ids& ids, const Ids& types, const Ids& offsets) {
  const auto context = test::context_of(offsets);
  const TextInput input{.ids = at::tensor(ids, at::kLong),
                        .types = types.empty() ? at::Tensor() : at::tensor(types, at::kLong)};
  return model.class_logits(model.hidden(input, context), context);
}

/// The paper's equations for one pair at a time, without packing.
class Reference {
 public:
  explicit Reference(Model& model) : parameters_(model.named_parameters()) {}

  at::Tensor logits(const Ids& first, const Ids& second) {
    auto a = words(first);
    auto b = words(second);
    if (parameters_.contains("intra_bias")) {
      a = with_own(a);
      b = with_own(b);
    }
    const auto scores = at::mm(network("attend", a), network("attend", b).t());
    auto beta = at::zeros_like(a);
    auto alpha = at::zeros_like(b);
    if (scores.numel() > 0) {
      beta = at::mm(scores.softmax(1), b);
      alpha = at::mm(scores.softmax(0).t(), a);
    }
    const auto v1 = network("compare", at::cat({a, beta}, 1)).sum(0);
    const auto v2 = network("compare", at::cat({b, alpha}, 1)).sum(0);
    return at::linear(network("aggregate", at::cat({v1, v2}).unsqueeze(0)),
                      parameters_["output.weight"], parameters_["output.bias"])[0];
  }

 private:
  at::Tensor words(const Ids& ids) {
    const auto rows = at::tensor(ids, at::kLong);
    return at::mm(parameters_["embedding"].index_select(0, rows),
                  parameters_["project.weight"].t());
  }

  at::Tensor network(const std::string& name, const at::Tensor& x) {
    const auto layer = [&](const at::Tensor& y, const std::string& which) {
      return at::relu(at::linear(y, parameters_[name + which + ".weight"],
                                 parameters_[name + which + ".bias"]));
    };
    return layer(layer(x, ".first"), ".second");
  }

  at::Tensor with_own(const at::Tensor& x) {
    const auto features = network("intra", x);
    auto scores = at::mm(features, features.t());
    auto bias = at::zeros_like(scores);
    const auto table = parameters_["intra_bias"];
    for (int64_t i = 0; i < x.size(0); ++i) {
      for (int64_t j = 0; j < x.size(0); ++j) {
        const auto apart = std::max<int64_t>(-2, std::min<int64_t>(2, i - j));
        bias = bias +
               at::zeros_like(scores).index_put({at::tensor({i}), at::tensor({j})}, at::ones({1})) *
                   table[apart + 2];
      }
    }
    scores = scores + bias;
    return at::cat({x, at::mm(scores.softmax(1), x)}, 1);
  }

  torch::OrderedDict<std::string, at::Tensor> parameters_;
};

at::Tensor reference_logits(Model& model) {
  Reference reference(model);
  return at::stack({reference.logits({5, 9, 11}, {8, 7}),
                    reference.logits({4}, {6, 10, 12, 13, 14}), reference.logits({15, 16}, {})});
}

TEST(DecomposableAttention, AgreesWithTheEquations) {
  for (const bool has_intra : {false, true}) {
    const auto model = decomposable_model_of(pairs(has_intra));
    EXPECT_TRUE(test::near(logits_of(*model, kIds, kTypes, kOffsets), reference_logits(*model)));
  }
}

TEST(DecomposableAttention, ANullTokenIsTheFirstWordOfEachText) {
  for (const bool has_intra : {false, true}) {
    auto options = pairs(has_intra);
    options.decomposable.has_null_token = true;
    const auto model = decomposable_model_of(options);
    Reference reference(*model);
    const auto expected = at::stack({reference.logits({2, 5, 9, 11}, {2, 8, 7}),
                                     reference.logits({2, 4}, {2, 6, 10, 12, 13, 14}),
                                     reference.logits({2, 15, 16}, {2})});
    EXPECT_TRUE(test::near(logits_of(*model, kIds, kTypes, kOffsets), expected));
    EXPECT_TRUE(test::near(logits_of(*model, {2, 3, 8, 7, 3}, {0, 0, 1, 1, 1}, {0, 5}),
                           reference.logits({2}, {2, 8, 7}).unsqueeze(0)));
    EXPECT_THROW(logits_of(*model, {5, 3, 8, 7, 3}, {0, 0, 1, 1, 1}, {0, 5}), UserError);
  }
}

TEST(DecomposableAttention, ItsGradientsAgreeToo) {
  for (const bool has_intra : {false, true}) {
    const auto model = decomposable_model_of(pairs(has_intra));
    const auto weights = at::arange(9, at::kFloat).view({3, 3}).sin();
    (logits_of(*model, kIds, kTypes, kOffsets) * weights).sum().backward();
    std::map<std::string, at::Tensor> ours;
    for (const auto& parameter : model->named_parameters()) {
      ours[parameter.key()] = parameter.value().grad().clone();
      parameter.value().mutable_grad().zero_();
    }
    (reference_logits(*model) * weights).sum().backward();
    for (const auto& parameter : model->named_parameters()) {
      EXPECT_TRUE(test::near(ours[parameter.key()], parameter.value().grad())) << parameter.key();
    }
  }
}

TEST(DecomposableAttention, ResultsDoNotDependOnOtherSequencesInTheBatch) {
  const auto model = decomposable_model_of(pairs(true));
  const auto together = logits_of(*model, kIds, kTypes, kOffsets);
  const auto alone = logits_of(*model, {kIds.begin(), kIds.begin() + 8},
                               {kTypes.begin(), kTypes.begin() + 8}, {0, 8});
  EXPECT_TRUE(test::near(together[0], alone[0]));
}

TEST(DecomposableAttention, WithoutTypesTheSeparatorSplitsTheTexts) {
  const auto model = decomposable_model_of(pairs());
  EXPECT_TRUE(
      test::near(logits_of(*model, kIds, {}, kOffsets), logits_of(*model, kIds, kTypes, kOffsets)));
  // As RoBERTa has it: two separators between the texts.
  EXPECT_TRUE(test::near(logits_of(*model, {2, 5, 9, 11, 3, 3, 8, 7, 3}, {}, {0, 9})[0],
                         logits_of(*model, kIds, kTypes, kOffsets)[0]));
}

TEST(DecomposableAttention, RequiresTwoTexts) {
  const auto model = decomposable_model_of(pairs());
  EXPECT_THROW(logits_of(*model, {2, 5, 9, 3}, {0, 0, 0, 0}, {0, 4}), UserError);
}

TEST(DecomposableAttention, DropoutDoesNotDependOnMicroBatches) {
  const auto model = decomposable_model_of(pairs(true));
  auto whole = test::context_of(kOffsets);
  whole.is_training = true;
  whole.seed = 5;
  const TextInput input{.ids = at::tensor(kIds, at::kLong), .types = at::tensor(kTypes, at::kLong)};
  const auto together = model->class_logits(model->hidden(input, whole), whole);
  auto part = test::context_of({0, 9});
  part.is_training = true;
  part.seed = 5;
  part.first_row = 8;
  part.first_sequence = 1;
  const TextInput second{.ids = input.ids.slice(0, 8, 17), .types = input.types.slice(0, 8, 17)};
  EXPECT_TRUE(test::near(model->class_logits(model->hidden(second, part), part)[0], together[1]));
  EXPECT_FALSE(test::near(together, logits_of(*model, kIds, kTypes, kOffsets)));
}

TEST(DecomposableAttention, ADirectoryGivesItBack) {
  const auto model = decomposable_model_of(pairs(true));
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto options = read_model_config(folder.path());
  EXPECT_EQ(options.decomposable, model->options().decomposable);
  const auto again = load_model(folder.path(), options, 2);
  EXPECT_TRUE(again.missing_keys.empty());
  EXPECT_TRUE(again.unexpected_keys.empty());
  EXPECT_TRUE(test::near(logits_of(*again.model, kIds, kTypes, kOffsets),
                         logits_of(*model, kIds, kTypes, kOffsets)));
}

}  // namespace
}  // namespace weft::models
