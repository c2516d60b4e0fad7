#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/rnn.h>

#include "models/config/presets.h"
#include "models/directory.h"
#include "models/model.h"
#include "support/config.h"
#include "support/context.h"
#include "support/folder.h"
#include "support/tensors.h"

/// Models of plain recurrent layers: no norms, no residual connections, no output projections.
namespace weft::models {
namespace {

const std::string kPlainLayers =
    "block: r, residual: {type: none}, norm: {place: none}, position: {type: none}, ";

ModelOptions plain_options(const std::string& model, Head head = Head::kCausalLm) {
  const auto document = config::Document::parse("model: {" + model + "}", "test.yaml");
  ModelOptions options;
  document.read([&](config::Section root) {
    auto section = root.section("model", {.help = ""});
    options = read_model_options(section);
  });
  options.head = head;
  options.vocabulary = 11;
  options.labels = {"a", "b", "c"};
  return options;
}

std::shared_ptr<Model> plain_model(const std::string& model, Head head = Head::kCausalLm) {
  auto made = make_model(plain_options(model, head), 1);
  test::fill_parameters(*made);
  return made;
}

const std::string kPlainLm =
    "type: gpt2, dim: 8, layers: 2, dropout: 0, embedding_dropout: 0, attention: {heads: 1}, " +
    kPlainLayers + "recurrent: {cell: lstm, output_projection: false}";

const std::vector<int64_t> kPlainLengths{0, 4, 5, 9};

TextInput plain_ids() {
  return {.ids = (at::arange(9, at::kLong) * 7 + 3).remainder(11), .types = {}};
}

/// Embeddings, torch.nn.LSTM with num_layers 2, and the embeddings again as output matrix.
TEST(PlainLanguageModel, EqualsTheTextbookModel) {
  const auto model = plain_model(kPlainLm);
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(8, 8).num_layers(2).batch_first(true));
  auto theirs = lstm->named_parameters();
  auto own = model->named_parameters();
  EXPECT_EQ(own.size(), theirs.size() + 1);
  const auto pairs = [&] {
    std::vector<std::pair<std::string, std::string>> names;
    for (const std::string layer : {"0", "1"}) {
      const auto cell = "layers." + layer + ".recurrent.cell.";
      names.insert(names.end(), {{cell + "input.weight", "weight_ih_l" + layer},
                                 {cell + "input.bias", "bias_ih_l" + layer},
                                 {cell + "hidden.weight", "weight_hh_l" + layer},
                                 {cell + "hidden.bias", "bias_hh_l" + layer}});
    }
    return names;
  }();
  auto words = model->input_embeddings().detach().clone().requires_grad_();
  {
    const at::NoGradGuard no_grad;
    for (const auto& [name, their_name] : pairs) {
      theirs[their_name].copy_(own[name]);
    }
  }
  const auto input = plain_ids();
  const auto found = model->lm_logits({model->hidden(input, test::context_of(kPlainLengths)), {}});
  std::vector<at::Tensor> rows;
  for (std::size_t b = 0; b + 1 < kPlainLengths.size(); ++b) {
    const auto x =
        words.index_select(0, input.ids.slice(0, kPlainLengths[b], kPlainLengths[b + 1]));
    rows.push_back(std::get<0>(lstm->forward(x.unsqueeze(0))).squeeze(0));
  }
  const auto expected = at::linear(at::cat(rows), words);
  EXPECT_TRUE(test::near(found, expected, 1e-6));
  const auto weights = at::arange(found.numel(), at::kFloat).cos().view_as(found);
  (found * weights).sum().backward();
  (expected * weights).sum().backward();
  EXPECT_TRUE(test::near(model->input_embeddings().grad(), words.grad(), 5e-6));
  for (const auto& [name, their_name] : pairs) {
    EXPECT_TRUE(test::near(own[name].grad(), theirs[their_name].grad(), 5e-6)) << name;
  }
}

TEST(PlainLanguageModel, IsStoredWithItsLayers) {
  const test::Folder folder;
  const auto model = plain_model(kPlainLm);
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto options = read_model_config(folder.path());
  EXPECT_EQ(options.layer_types, model->options().layer_types);
  const auto again = load_model(folder.path(), options, 2);
  const auto context = test::context_of(kPlainLengths);
  const at::NoGradGuard no_grad;
  EXPECT_TRUE(
      at::equal(again.model->hidden(plain_ids(), context), model->hidden(plain_ids(), context)));
}

/// 24 million in the paper's model of the Penn Treebank, whose output layer also has a bias for
/// each of the 10,000 words (arXiv:1708.02182, table 1).
TEST(PlainLanguageModel, AwdLstmHasThePublishedSize) {
  for (const auto& preset : presets()) {
    if (preset.name == "awd-lstm") {
      auto options = preset.options;
      options.head = Head::kCausalLm;
      options.vocabulary = 10000;
      int64_t count = 0;
      for (const auto& parameter : make_model(options, 1)->parameters()) {
        count += parameter.numel();
      }
      EXPECT_EQ(count, 24'211'600);
      return;
    }
  }
  FAIL() << "no such preset";
}

TEST(PlainLanguageModel, RefusesWhatNeedsItsInputs) {
  const auto message = [](const std::string& model) {
    return test::message_of<config::Error>([&] { plain_options(model); });
  };
  const auto contains = [&](const std::string& model, const std::string& words) {
    EXPECT_NE(message(model).find(words), std::string::npos) << message(model);
  };
  EXPECT_EQ(message(kPlainLm), "(nothing was thrown)");
  contains(kPlainLm + ", drop_path_rate: 0.1",
           "model.drop_path_rate: skipping a sub-layer needs residual connections, found "
           "residual.type none");
  contains("type: gpt2, dim: 8, attention: {heads: 1}, residual: {type: none}, layerdrop: 0.1",
           "model.layerdrop: skipping a layer needs residual connections");
  contains("type: gpt_neox, dim: 8, attention: {heads: 1}, residual: {type: none}",
           "model.residual: a model whose sub-layers are parallel needs residual connections");
}

/// With W = I, U = 0 and no biases a layer of ReLU passes on embeddings that are not negative.
TEST(PlainClassifier, OfTheMeanIsABagOfEmbeddings) {
  const auto model = plain_model(
      "type: gpt2, dim: 8, layers: 1, attention: {heads: 1}, classifier_pooling: mean, " +
          kPlainLayers + "recurrent: {cell: rnn, activation: relu, output_projection: false}",
      Head::kSequence);
  const at::NoGradGuard no_grad;
  auto own = model->named_parameters();
  model->input_embeddings().abs_();
  for (const auto* part : {"input", "hidden"}) {
    own[std::string("layers.0.recurrent.cell.") + part + ".bias"].zero_();
  }
  own["layers.0.recurrent.cell.input.weight"].copy_(at::eye(8));
  own["layers.0.recurrent.cell.hidden.weight"].zero_();
  const auto input = plain_ids();
  const auto found = model->classify(input, test::context_of(kPlainLengths));
  for (std::size_t b = 0; b + 1 < kPlainLengths.size(); ++b) {
    const auto mean =
        model->input_embeddings()
            .index_select(0, input.ids.slice(0, kPlainLengths[b], kPlainLengths[b + 1]))
            .mean(0);
    EXPECT_TRUE(test::near(found[static_cast<int64_t>(b)], at::mv(own["head.weight"], mean), 1e-6))
        << b;
  }
}

}  // namespace
}  // namespace weft::models
