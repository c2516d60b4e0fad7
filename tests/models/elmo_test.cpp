#include "models/elmo.h"

#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/string_util.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "support/context.h"
#include "support/folder.h"
#include "support/tensor_file.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

const std::string kElmoReference = WEFT_SOURCE_DIR "/tests/reference/elmo";

ModelOptions options_of(const std::string& model) {
  const auto document = config::Document::parse("model: {" + model + "}", "test.yaml");
  ModelOptions options;
  document.read([&](config::Section root) {
    auto section = root.section("model", {.help = ""});
    options = read_model_options(section);
  });
  options.labels = {"a", "b", "c"};
  return options;
}

ModelOptions elmo_options(Head head, const std::string& keys, const std::string& recurrent) {
  auto options = options_of("type: elmo, dim: 8, dropout: 0, recurrent: {width: 5, projection: 4" +
                            recurrent + "}" + (keys.empty() ? "" : ", " + keys));
  options.head = head;
  options.vocabulary = 20;
  return options;
}

std::shared_ptr<Model> elmo_model(Head head = Head::kBidirectionalLm,
                                  const std::string& keys = "",
                                  const std::string& recurrent = "") {
  auto model = make_model(elmo_options(head, keys, recurrent), 1);
  test::fill_parameters(*model, 0.8);
  return model;
}

at::Tensor states_of(Model& model, const std::vector<int64_t>& ids, std::vector<int64_t> offsets) {
  const at::NoGradGuard guard;
  return model.hidden({.ids = at::tensor(ids, at::kLong)}, test::context_of(std::move(offsets)));
}

void set_mix(Model& model, const std::vector<double>& mix, double scale) {
  test::set_parameters(model, {{"mix", at::tensor(mix, at::kFloat)},
                               {"mix_scale", at::tensor({scale}, at::kFloat)}});
}

TEST(Elmo, EqualsTheProgramOfItsAuthors) {
  const auto model = load_model(kElmoReference, read_model_config(kElmoReference), 1).model;
  const auto expected = test::read_tensors(kElmoReference + "/expected.safetensors");
  for (const auto* sentence : {"0", "1", "2"}) {
    const auto& ids = expected.at(str_cat("ids_", sentence));
    const auto words = ids.numel() - 2;  // without begin and end
    const auto* first = ids.const_data_ptr<int64_t>();
    const auto states = states_of(*model, {first, first + ids.numel()}, {0, ids.numel()});
    EXPECT_TRUE(
        test::near(states.narrow(0, 1, words), expected.at(str_cat("states_", sentence)), 1e-6))
        << sentence;
  }
}

TEST(Elmo, AdaptiveEmbeddingsEqualThePlainForm) {
  const auto model =
      elmo_model(Head::kNone, "embedding: {type: adaptive, cutoffs: [3, 8], factor: 2}");
  EXPECT_FALSE(model->input_embeddings().defined());
  const std::vector<int64_t> ids = {4, 4, 4, 9, 9, 0, 0, 0, 0, 1, 17, 17, 5, 6, 7, 8, 9, 9};
  model->fit({.visit = [&](const auto& visit) { visit({.ids = ids}); }, .directory = ""});
  const auto tokens = model->named_buffers()["embeddings.tokens"];
  // By falling count, equal ones by id.
  EXPECT_TRUE(
      at::equal(tokens.narrow(0, 0, 9), at::tensor({0, 9, 4, 17, 1, 5, 6, 7, 8}, at::kLong)))
      << tokens;
  const auto parameters = model->named_parameters();
  std::vector<at::Tensor> bands;  // vectors of all tokens, by rank
  for (const auto* band : {"", "_2", "_3"}) {
    bands.push_back(at::matmul(parameters[str_cat("embeddings.words", band)],
                               parameters[str_cat("embeddings.projection", band, ".weight")].t()));
  }
  EXPECT_EQ(parameters["embeddings.words"].sizes(), at::IntArrayRef({3, 4}));
  EXPECT_EQ(parameters["embeddings.words_2"].sizes(), at::IntArrayRef({5, 2}));
  EXPECT_EQ(parameters["embeddings.words_3"].sizes(), at::IntArrayRef({12, 1}));
  const auto table = at::zeros({20, 4}).index_copy(0, tokens, at::cat(bands));  // (V, D)
  const auto gradients_of = [&](const at::Tensor& vectors) {
    test::clear_gradients(*model);
    (vectors * at::arange(vectors.numel(), at::kFloat).view(vectors.sizes()).sin())
        .sum()
        .backward({}, /*retain_graph=*/true);
    std::vector<at::Tensor> result;
    for (const auto& parameter : parameters) {
      if (parameter.key().starts_with("embeddings.")) {
        result.push_back(parameter.value().grad().clone());
      }
    }
    return result;
  };
  const auto plain = table.index_select(0, at::tensor(ids, at::kLong));
  auto* const embedding = dynamic_cast<nn::TokenEmbedding*>(find_module(*model, "embeddings"));
  ASSERT_NE(embedding, nullptr);
  const auto own = embedding->forward(at::tensor(ids, at::kLong));
  EXPECT_TRUE(test::near(own, plain, 1e-5));
  const auto found = gradients_of(own);
  const auto expected = gradients_of(plain);
  ASSERT_EQ(found.size(), 6U);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(test::near(found[i], expected[i], 1e-4)) << i;
  }
}

TEST(Elmo, AdaptiveEmbeddingsAreStoredWithTheirOrder) {
  const auto keys = "embedding: {type: adaptive, cutoffs: [3]}";
  const auto model = elmo_model(Head::kBidirectionalLm, keys);
  const std::vector<int64_t> ids = {4, 4, 4, 9, 9, 0};
  model->fit({.visit = [&](const auto& visit) { visit({.ids = ids}); }, .directory = ""});
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto loaded = load_model(folder.path(), read_model_config(folder.path()), 9);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(at::equal(states_of(*loaded.model, ids, {0, 6}), states_of(*model, ids, {0, 6})));
  model->named_buffers()["embeddings.tokens"].fill_(1);
  EXPECT_THROW(model->finish_loading(), UserError);
}

TEST(Elmo, SequencesOfABatchAreIndependent) {
  const auto model = elmo_model();
  const auto both = states_of(*model, {5, 6, 7, 8, 9, 10}, {0, 4, 6});
  EXPECT_TRUE(test::near(both.narrow(0, 0, 4), states_of(*model, {5, 6, 7, 8}, {0, 4}), 1e-6));
  EXPECT_TRUE(test::near(both.narrow(0, 4, 2), states_of(*model, {9, 10}, {0, 2}), 1e-6));
}

TEST(Elmo, BackwardIsForwardOnTheReversedText) {
  const auto model = elmo_model();
  const at::NoGradGuard guard;
  auto parameters = model->named_parameters();
  for (const auto& parameter : parameters) {
    if (const auto at = parameter.key().find(".backward."); at != std::string::npos) {
      auto name = parameter.key();
      parameter.value().copy_(parameters[name.replace(at, 10, ".forward.")]);
    }
  }
  const auto states = states_of(*model, {5, 6, 7, 8, 9, 10}, {0, 4, 6});
  const auto reversed = states_of(*model, {8, 7, 6, 5, 10, 9}, {0, 4, 6});
  const auto order = at::tensor({3, 2, 1, 0, 5, 4}, at::kLong);
  const auto backward = reversed.index_select(0, order).narrow(1, 4, 4);
  EXPECT_TRUE(test::near(states.narrow(1, 0, 4), backward, 1e-6));
  EXPECT_FALSE(test::near(states.narrow(1, 0, 4), states.narrow(1, 4, 4), 1e-2));
}

TEST(Elmo, ADirectionDoesNotSeeWhatItPredicts) {
  const auto model = elmo_model();
  const auto before = states_of(*model, {5, 6, 7, 8}, {0, 4});
  const auto after = states_of(*model, {5, 6, 9, 8}, {0, 4});  // the third token is another
  EXPECT_TRUE(at::equal(before.slice(0, 0, 2).slice(1, 0, 4), after.slice(0, 0, 2).slice(1, 0, 4)));
  EXPECT_TRUE(at::equal(before.slice(0, 3, 4).slice(1, 4, 8), after.slice(0, 3, 4).slice(1, 4, 8)));
  for (int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(at::equal(before[row].slice(0, 0, 4), after[row].slice(0, 0, 4)), row < 2);
    EXPECT_EQ(at::equal(before[row].slice(0, 4, 8), after[row].slice(0, 4, 8)), row > 2);
  }
}

/// The states of each layer alone, by a mix that is almost only of it.
std::vector<at::Tensor> layers_of(Model& model, const std::vector<int64_t>& ids) {
  std::vector<at::Tensor> layers;
  for (const auto& mix : {std::vector<double>{1e4, 0, 0}, {0, 1e4, 0}, {0, 0, 1e4}}) {
    set_mix(model, mix, 1);
    layers.push_back(states_of(model, ids, {0, static_cast<int64_t>(ids.size())}));
  }
  return layers;
}

TEST(Elmo, HeadsReadAMixOfTheLayers) {
  const auto model = elmo_model(Head::kToken);
  const std::vector<int64_t> ids = {5, 6, 7, 5};
  const auto layers = layers_of(*model, ids);
  const auto words = model->input_embeddings().index_select(0, at::tensor(ids, at::kLong));
  EXPECT_TRUE(test::near(layers[0], at::cat({words, words}, 1), 1e-6));
  set_mix(*model, {0, 0, 0}, 3);
  EXPECT_TRUE(test::near(states_of(*model, ids, {0, 4}), layers[0] + layers[1] + layers[2], 1e-5));
  set_mix(*model, {0.5, -1, 2}, 1);
  const auto weights = at::softmax(at::tensor({0.5, -1.0, 2.0}), 0);
  EXPECT_TRUE(test::near(states_of(*model, ids, {0, 4}),
                         weights[0] * layers[0] + weights[1] * layers[1] + weights[2] * layers[2],
                         1e-5));
  // The same word in two contexts: equal at the token layer, different above.
  EXPECT_TRUE(at::equal(layers[0][0], layers[0][3]));
  EXPECT_FALSE(test::near(layers[1][0], layers[1][3], 1e-3));
}

/// A model with another head and the same other parameters.
std::shared_ptr<Model> with_head(Model& model, Head head) {
  auto result = elmo_model(head);
  const at::NoGradGuard guard;
  const auto parameters = model.named_parameters();
  for (auto& parameter : result->named_parameters()) {
    if (const auto* own = parameters.find(parameter.key())) {
      parameter.value().copy_(*own);
    }
  }
  return result;
}

TEST(Elmo, LanguageModelsReadTheTopLayerAndAModelWithoutHeadTheMean) {
  const std::vector<int64_t> ids = {5, 6, 7};
  const auto model = elmo_model(Head::kToken);
  const auto layers = layers_of(*model, ids);
  EXPECT_TRUE(test::near(states_of(*with_head(*model, Head::kBidirectionalLm), ids, {0, 3}),
                         layers[2], 1e-6));
  EXPECT_TRUE(test::near(states_of(*with_head(*model, Head::kNone), ids, {0, 3}),
                         (layers[0] + layers[1] + layers[2]) / 3, 1e-5));
}

TEST(Elmo, NormalizedLayersHaveNoScale) {
  const auto model = elmo_model(Head::kToken, "normalize_layers: true");
  const auto rows = layers_of(*model, {5, 6, 7})[1];
  EXPECT_TRUE(test::near(rows.mean(1), at::zeros({3}), 1e-5));
  EXPECT_TRUE(test::near(rows.square().mean(1), at::ones({3}), 1e-2));
}

TEST(Elmo, ResidualsAddTheLayerBelow) {
  const std::vector<int64_t> ids = {5, 6, 7};
  const auto with = layers_of(*elmo_model(Head::kToken), ids);
  const auto without = layers_of(*elmo_model(Head::kToken, "", ", residual: false"), ids);
  EXPECT_TRUE(test::near(with[1], without[1], 1e-6));
  EXPECT_TRUE(test::near(with[2], without[2] + with[1], 1e-5));
}

TEST(Elmo, CharactersGiveTokensOfOneSpellingOneVector) {
  const auto model = elmo_model(Head::kNone,
                                "embedding: {type: characters, filter_widths: [1, 2, 3], filters: "
                                "[2, 3, 4], max_characters: 6}");
  model->fit({.visit = [](const auto& /*visit*/) {},
              .directory = "",
              .token = [](int64_t id) -> std::string {
                return id == 5   ? "rain"
                       : id == 6 ? "rain"
                       : id == 7 ? "ra"
                       : id == 8 ? "rainy"  // cut off after the fourth byte
                                 : "x";
              }});
  const auto alone = [&](int64_t id) { return states_of(*model, {id}, {0, 1}); };
  EXPECT_TRUE(at::equal(alone(5), alone(6)));
  EXPECT_TRUE(at::equal(alone(5), alone(8)));
  EXPECT_FALSE(test::near(alone(5), alone(7), 1e-4));
  EXPECT_FALSE(model->input_embeddings().defined());
}

TEST(Elmo, RefusesSpellingsWithUnknownCharacters) {
  const auto model = elmo_model(Head::kNone, "embedding: {type: characters}");
  model->finish_loading();
  for (const int64_t character : {-1, 259}) {
    model->named_buffers()["embeddings.spelling"][3][0] = character;
    EXPECT_THROW(model->finish_loading(), UserError) << character;
  }
}

TEST(Elmo, OutputsAreTiedToWordsIfConfigured) {
  const auto model = elmo_model(Head::kBidirectionalLm, "tie_word_embeddings: true");
  EXPECT_TRUE(model->output_weight().is_same(model->input_embeddings()));
  EXPECT_FALSE(elmo_model()->output_weight().is_same(elmo_model()->input_embeddings()));
}

TEST(Elmo, PublishedSizes) {
  const auto words = [](const ModelOptions& options) {
    int64_t count = 0;
    for (const auto& parameter : make_model(options, 1)->named_parameters()) {
      count += parameter.key().starts_with("output") ? 0 : parameter.value().numel();
    }
    return count;
  };
  auto options = options_of("preset: elmo-small");
  options.head = Head::kNone;
  options.vocabulary = 10;
  // 13.6 million in the table of allenai's web page, the softmax left out.
  EXPECT_NEAR(static_cast<double>(words(options)), 13.6e6, 0.1e6);
}

class ElmoErrors : public testing::TestWithParam<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(
    Keys,
    ElmoErrors,
    testing::Values(
        std::pair{"dim: 7", "model.dim: 7, must be even"},
        std::pair{"dim: 8, recurrent: {width: 5}",
                  "the states of a direction have 5 features, must be 4"},
        std::pair{"dim: 8, tie_word_embeddings: true, embedding: {type: characters}",
                  "must be false with embedding.type: characters"},
        std::pair{"dim: 8, embedding: {type: characters, filters: [3]}",
                  "1 numbers for 7 filter_widths"},
        std::pair{"dim: 8, embedding: {type: characters, filter_widths: [9], filters: [3], "
                  "max_characters: 8}",
                  "9, must be at most max_characters 8"},
        std::pair{"dim: 8, embedding: {type: characters, filter_widths: [1.5], filters: [3]}",
                  "is not an integer"},
        std::pair{"dim: 8, embedding: {type: letters}", "letters"}));

TEST_P(ElmoErrors, AreNamed) {
  const auto& [keys, message] = GetParam();
  try {
    options_of(str_cat("type: elmo, ", keys));
    FAIL() << "no error";
  } catch (const config::Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace weft::models
