#include "models/baselines/fasttext.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "nn/output/output_layer.h"
#include "support/context.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

ModelOptions fasttext_options(const char* output = nullptr, const char* keys = "{}") {
  auto options = family_defaults(family_named("fasttext"));
  options.head = Head::kSequence;
  options.vocabulary = 20;
  options.dim = 3;
  options.labels = {"a", "b", "c", "d"};
  if (output != nullptr) {
    auto section = config::Document::parse(keys, "output").root();
    options.layer_types.output = nn::read_component(section, nn::output_types().at(output));
  }
  return options;
}

/// A model whose parameters are all different from zero.
std::shared_ptr<Model> filled(const ModelOptions& options) {
  auto model = make_model(options, 1);
  const at::NoGradGuard guard;
  for (auto& parameter : model->parameters()) {
    parameter.copy_(at::randn(parameter.sizes()));
  }
  return model;
}

const TextInput kFastTextInput = {.ids = at::tensor({5, 6, 5, 9}, at::kLong)};

TEST(FastText, IsAMatrixTimesTheMeanEmbedding) {
  const auto model = filled(fasttext_options());
  const auto context = test::context_of({0, 3, 4});
  const auto words = model->named_parameters()["words"];
  const auto means = at::stack({(2 * words[5] + words[6]) / 3, words[9]});
  const auto expected = means.mm(model->named_parameters()["output"].t());
  EXPECT_TRUE(test::near(model->classify(kFastTextInput, context), expected));
  EXPECT_TRUE(
      test::near(model->class_logits(model->hidden(kFastTextInput, context), context), expected));
}

TEST(FastText, OutputLayersOfClassesGiveProbabilities) {
  for (const auto& [output, keys] :
       {std::pair{"hierarchical", "{tree: balanced}"}, std::pair{"class_based", "{}"},
        std::pair{"adaptive", "{cutoffs: [1, 2], factor: 1}"}}) {
    const auto model = filled(fasttext_options(output, keys));
    const auto context = test::context_of({0, 3, 4});
    const auto logits = model->classify(kFastTextInput, context);
    ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{2, 4})) << output;
    EXPECT_TRUE(test::near(logits.exp().sum(1), at::ones({2}))) << output;
  }
}

TEST(FastText, AHuffmanTreeOfClassesIsBuiltFromTheirCounts) {
  const auto model = filled(fasttext_options("hierarchical"));
  const std::vector<int64_t> labels = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3};
  const std::vector<int64_t> ids = {5};
  model->fit({.visit =
                  [&](const auto& visit) {
                    for (const auto label : labels) {
                      visit(TrainingSequence{.ids = ids, .label = label});
                    }
                  },
              .directory = ""});
  // The path of the most frequent class is one decision, of the two rarest ones three.
  const auto children = model->named_buffers()["output_layer.children"];
  const auto root = children[0];
  EXPECT_TRUE(root.eq(-1).any().item<bool>()) << children;
}

TEST(FastText, AnOutputLayerNeedsOneRightClassOfSeveral) {
  auto options = fasttext_options("hierarchical");
  options.is_multi_label = true;
  EXPECT_THROW(make_model(options, 1), UserError);
  options = fasttext_options("hierarchical");
  options.labels = {};
  options.is_regression = true;
  EXPECT_THROW(make_model(options, 1), UserError);
}

TEST(FastText, IsTheSameAfterLoading) {
  for (const auto* output : {static_cast<const char*>(nullptr), "hierarchical"}) {
    const auto model = filled(fasttext_options(output));
    const test::Folder folder;
    save_model(folder.path(), *model, formats::DType::kF32);
    const auto loaded = load_model(folder.path(), read_model_config(folder.path()), 0).model;
    const auto context = test::context_of({0, 3, 4});
    EXPECT_TRUE(at::equal(model->classify(kFastTextInput, context),
                          loaded->classify(kFastTextInput, context)));
    auto others = model->options();
    others.labels = {"x", "y"};
    const auto tuned = load_model(folder.path(), others, 0, {Part::kHead}).model;
    EXPECT_EQ(tuned->classify(kFastTextInput, context).size(1), 2);
    EXPECT_TRUE(at::equal(tuned->named_parameters()["words"], model->named_parameters()["words"]));
  }
}

TEST(FastTextImport, KeepsATreeOfEqualCounts) {
  formats::FastTextFile file;
  file.loss = formats::FastTextLoss::kHierarchicalSoftmax;
  file.words = {"</s>"};
  file.labels = {{"a", 2}, {"b", 2}, {"c", 1}};
  file.input = {.rows = 1, .columns = 2, .values = {1, 2}};
  file.output = {.rows = 3, .columns = 2, .values = {1, 0, 0, 1, 9, 9}};
  const auto model = fasttext_model(file);
  // Row 0 joins c (left) and b (right); row 1, the root, joins a (left, of the lower count) and
  // that node. The right one has probability sigmoid(row . x), with row . x = 1 and 2.
  const auto probability = [](double score) { return 1 / (1 + std::exp(-score)); };
  const auto logits =
      model->classify({.ids = at::tensor({0}, at::kLong)}, test::context_of({0, 1}));
  const auto right = probability(2);
  EXPECT_TRUE(test::near(
      logits.exp()[0],
      at::tensor({static_cast<float>(1 - right), static_cast<float>(right * probability(1)),
                  static_cast<float>(right * (1 - probability(1)))})));
}

}  // namespace
}  // namespace weft::models
