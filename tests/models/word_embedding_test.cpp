// model.embedding in all families with word embeddings, alone and with the weights of
// model.output.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/string_util.h"
#include "every_head.h"
#include "models/config/config_json.h"
#include "models/config/family.h"
#include "models/config/output_types.h"
#include "models/decoding/model_decoder.h"
#include "models/directory.h"
#include "models/inference.h"
#include "models/weights/weight_map.h"
#include "nn/embedding/token_embedding.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

constexpr auto kClusterKeys = "cutoffs: [4, 9], factor: 2";

struct WordCase {
  const char* family;
  Head head;
};

void PrintTo(const WordCase& value, std::ostream* out) { *out << value.family; }

template <class Definition>
typename Definition::Choice choice_of(const Definition& definition, const std::string& keys) {
  auto section = config::Document::parse("{" + keys + "}", "keys").root();
  return nn::read_component(section, definition);
}

ModelOptions options_with_words(const WordCase& wanted, const std::string& embedding = "adaptive") {
  auto options = test::smallest_options(family_named(wanted.family), wanted.head);
  options.decoder.width = options.width;  // as T5 has it
  const bool has_clusters = nn::token_embeddings().at(embedding).has_clusters;
  options.layer_types.embedding =
      choice_of(nn::token_embeddings().at(embedding),
                has_clusters ? kClusterKeys : "filter_widths: [1], filters: [4], highways: 1");
  options.tie_word_embeddings = false;
  options.decoder.share_encoder_decoder_embeddings = options.family == family_named("t5");
  return options;
}

void tie(ModelOptions& options, const std::string& keys = "") {
  options.tie_word_embeddings = true;
  options.decoder.share_encoder_decoder_embeddings = true;
  options.feed_forward_lm.tie = EmbeddingTie::kAlways;
  options.layer_types.output =
      choice_of(output_types().at("adaptive"), std::string(kClusterKeys) + keys);
}

/// With counts of which no two are the same.
std::shared_ptr<Model> fitted(const ModelOptions& options) {
  auto model = make_model(options, 3);
  const auto visit_all = [&](const auto& visit) {
    for (int64_t token = 0; token < options.vocabulary; ++token) {
      const std::vector<int64_t> ids(static_cast<std::size_t>((token * 7) % 20), token);
      visit({.ids = ids, .targets = ids, .source = ids});
    }
  };
  model->fit({.visit = visit_all, .directory = "", .token = [](int64_t id) {
                return std::string(1, static_cast<char>('a' + id));
              }});
  test::fill_parameters(*model);
  return model;
}

nn::TokenStates word_states(Model& model) {
  const test::TwoSequences two(model.options());
  auto context = two.context;
  nn::EncoderStates encoder_states;
  if (is_encoder_decoder(model.options())) {
    encoder_states = {.states = model.encode({.ids = two.input.ids, .patches = {}}, two.context),
                      .layout = two.context.layout};
    context.encoder_states = &encoder_states;
  }
  auto states = model.hidden(two.input, context);
  if (head_of(model.options()).predicts_neighbours) {
    states = states.narrow(1, 0, states.size(1) / 2);  // of one direction
  }
  return states;
}

at::Tensor weighted_sum(const at::Tensor& x) {
  return (x * at::arange(x.numel(), at::kFloat).view_as(x).sin()).sum();
}

/// Where an adaptive model has the table that is this parameter of a plain model, and how its
/// parameters begin: `embeddings.word.`.
std::string path_of_table(std::string name, const Model& adaptive) {
  for (const std::string ending : {"", ".weight", ".words"}) {
    if (name.ends_with(ending)) {
      const auto path = name.substr(0, name.size() - ending.size()) + ".";
      if (adaptive.named_buffers().contains(path + "tokens") && path != ".") {
        return path;
      }
    }
  }
  return "";
}

struct Cluster {
  at::Tensor tokens;
  at::Tensor words;
  at::Tensor projection;
};

std::vector<Cluster> clusters_at(const std::string& path, const Model& model) {
  const auto parameters = model.named_parameters();
  const auto order = model.named_buffers()[path + "tokens"];
  std::vector<Cluster> result;
  int64_t first = 0;
  for (const std::string cluster : {"", "_2", "_3"}) {
    const auto words = parameters[path + "words" + cluster];
    result.push_back({order.narrow(0, first, words.size(0)), words,
                      parameters[path + "projection" + cluster + ".weight"]});
    first += words.size(0);
  }
  return result;
}

class WordEmbeddings : public testing::TestWithParam<WordCase> {};

INSTANTIATE_TEST_SUITE_P(Families,
                         WordEmbeddings,
                         testing::Values(WordCase{"bert", Head::kMaskedLm},
                                         WordCase{"albert", Head::kMaskedLm},
                                         WordCase{"roberta", Head::kSequence},
                                         WordCase{"electra", Head::kMaskedLm},
                                         WordCase{"xlm", Head::kMaskedLm},
                                         WordCase{"reformer", Head::kCausalLm},
                                         WordCase{"gpt2", Head::kCausalLm},
                                         WordCase{"llama", Head::kCausalLm},
                                         WordCase{"t5", Head::kConditional},
                                         WordCase{"marian", Head::kConditional},
                                         WordCase{"feed_forward_lm", Head::kCausalLm},
                                         WordCase{"seq2seq_rnn", Head::kConditional},
                                         WordCase{"elmo", Head::kBidirectionalLm}));

TEST_P(WordEmbeddings, EqualAPlainModelWithTheirTables) {
  const auto model = fitted(options_with_words(GetParam()));
  auto plain_options = model->options();
  plain_options.layer_types.embedding.reset();
  const auto plain = make_model(plain_options, 3);
  const auto own = model->named_parameters();
  std::map<std::string, std::string> tables;
  {
    const at::NoGradGuard guard;
    for (auto& parameter : plain->named_parameters()) {
      auto value = parameter.value();
      const auto path = path_of_table(parameter.key(), *model);
      if (path.empty()) {
        value.copy_(own[parameter.key()]);
        continue;
      }
      tables[parameter.key()] = path;
      for (const auto& [tokens, words, projection] : clusters_at(path, *model)) {
        value.index_copy_(0, tokens, at::matmul(words, projection.t()));
      }
    }
  }
  EXPECT_EQ(
      tables.size(),
      is_encoder_decoder(plain_options) && plain_options.family != family_named("t5") ? 2U : 1U);
  const auto found = word_states(*model).states;
  const auto expected = word_states(*plain).states;
  EXPECT_TRUE(test::near(found, expected, 1e-4));
  weighted_sum(found).backward();
  weighted_sum(expected).backward();
  for (const auto& parameter : plain->named_parameters()) {
    const auto gradient = parameter.value().grad();
    if (!gradient.defined()) {
      continue;
    }
    if (!tables.contains(parameter.key())) {
      EXPECT_TRUE(test::near(own[parameter.key()].grad(), gradient, 1e-3)) << parameter.key();
      continue;
    }
    for (const auto& [tokens, words, projection] :
         clusters_at(tables.at(parameter.key()), *model)) {
      const auto rows = gradient.index_select(0, tokens);
      EXPECT_TRUE(test::near(words.grad(), at::matmul(rows, projection), 1e-3));
      EXPECT_TRUE(test::near(projection.grad(), at::matmul(rows.t(), words), 1e-3));
    }
  }
}

TEST_P(WordEmbeddings, AreStoredWithTheirOrder) {
  for (const std::string type : {"adaptive", "characters"}) {
    const auto model = fitted(options_with_words(GetParam(), type));
    const test::Folder folder;
    save_model(folder.path(), *model, formats::DType::kF32);
    EXPECT_EQ(formats::read_json(folder.path() + "/config.json")["model_type"], "weft");
    const auto options = read_model_config(folder.path());
    EXPECT_EQ(options.layer_types, model->options().layer_types);
    const auto loaded = load_model(folder.path(), options, 9);
    EXPECT_TRUE(loaded.missing_keys.empty());
    EXPECT_TRUE(loaded.unexpected_keys.empty());
    const auto states = word_states(*model).states;
    EXPECT_TRUE(at::equal(word_states(*loaded.model).states, states)) << type;
    const auto fresh = make_model(options, 3);
    test::fill_parameters(*fresh);
    EXPECT_FALSE(at::equal(word_states(*fresh).states, states)) << type;
  }
}

TEST_P(WordEmbeddings, HaveNoTable) {
  const auto model = make_model(options_with_words(GetParam()), 3);
  EXPECT_FALSE(model->input_embeddings().defined());
  int64_t parameters = 0;
  for (const auto& parameter : model->named_parameters()) {
    parameters += parameter.value().numel();
  }
  int64_t listed = 0;
  for (const auto& [name, size] : module_sizes(model->options())) {
    listed += size;
  }
  for (const auto& buffer : model->named_buffers()) {  // the order is stored like a parameter
    parameters += buffer.key().ends_with("tokens") ? buffer.value().numel() : 0;
  }
  EXPECT_EQ(listed, parameters);
}

class TiedWordEmbeddings : public testing::TestWithParam<std::pair<WordCase, bool>> {
 protected:
  static ModelOptions tied_options() {
    auto options = options_with_words(GetParam().first);
    tie(options, GetParam().second ? ", tie_projections: true" : "");
    return options;
  }
};

std::vector<std::pair<WordCase, bool>> tied_cases() {
  std::vector<std::pair<WordCase, bool>> cases;
  for (const auto& each :
       {WordCase{"bert", Head::kMaskedLm}, WordCase{"albert", Head::kMaskedLm},
        WordCase{"xlm", Head::kMaskedLm}, WordCase{"gpt2", Head::kCausalLm},
        WordCase{"llama", Head::kCausalLm}, WordCase{"t5", Head::kConditional},
        WordCase{"bart", Head::kConditional}, WordCase{"feed_forward_lm", Head::kCausalLm},
        WordCase{"seq2seq_rnn", Head::kConditional}, WordCase{"elmo", Head::kBidirectionalLm}}) {
    cases.emplace_back(each, false);
    cases.emplace_back(each, true);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Families, TiedWordEmbeddings, testing::ValuesIn(tied_cases()));

/// The path of the embeddings that the output is tied to.
std::string tied_path(const Model& model) {
  std::string result;
  for (const auto& parameter : model.named_parameters()) {
    const auto end = parameter.key().find(".projection.weight");
    if (end != std::string::npos) {
      result = parameter.key().substr(0, end + 1);
    }
  }
  return result;
}

at::Tensor loss_of(Model& model) {
  const auto states = word_states(model);
  const auto targets = at::arange(states.states.size(0)) * 2;
  return model.lm_loss(states, targets, test::TwoSequences(model.options()).context);
}

TEST_P(TiedWordEmbeddings, GradientsAreTheSumOfThoseOfBothUses) {
  const auto model = fitted(tied_options());
  auto apart_options = model->options();
  apart_options.tie_word_embeddings = false;
  apart_options.feed_forward_lm.tie = EmbeddingTie::kNone;
  apart_options.layer_types.output = choice_of(output_types().at("adaptive"), kClusterKeys);
  const auto apart = fitted(apart_options);
  const auto path = tied_path(*model);
  const auto own = model->named_parameters();
  const auto others = apart->named_parameters();
  const auto is_shared = [&](int64_t i) {
    return !own.contains(str_cat("output_layer.down_", i, ".weight"));
  };
  const auto down = [&](const auto& all, int64_t i) {
    return all[str_cat("output_layer.down_", i, ".weight")];
  };
  const auto clusters = clusters_at(path, *model);
  {
    const at::NoGradGuard guard;
    for (auto& parameter : apart->named_parameters()) {
      if (const auto* same = own.find(parameter.key())) {
        parameter.value().copy_(*same);
      }
    }
    auto head = others["output_layer.head.weight"];
    head.copy_(at::cat({clusters[0].words, own["output_layer.clusters"]}));
    for (int64_t i = 1; i < 3; ++i) {
      const auto& cluster = clusters[static_cast<std::size_t>(i)];
      auto up = others[str_cat("output_layer.up_", i, ".weight")];
      up.copy_(cluster.words);
      auto projection = down(others, i);
      projection.copy_(is_shared(i) ? cluster.projection.t() : down(own, i));
    }
  }
  ASSERT_TRUE(at::equal(apart->named_buffers()["output_layer.tokens"],
                        model->named_buffers()[path + "tokens"]));
  EXPECT_EQ(is_shared(1), GetParam().second);
  const auto loss = loss_of(*model);
  const auto expected = loss_of(*apart);
  EXPECT_TRUE(test::near(loss, expected, 1e-4));
  EXPECT_TRUE(test::near(model->lm_logits(word_states(*model)),
                         apart->lm_logits(word_states(*apart)), 1e-4));
  loss.backward();
  expected.backward();
  const auto near = [](const at::Tensor& a, const at::Tensor& b) { return test::near(a, b, 1e-3); };
  const auto head = others["output_layer.head.weight"].grad();
  EXPECT_TRUE(near(own["output_layer.clusters"].grad(), head.slice(0, 4)));
  const auto inputs = clusters_at(path, *apart);
  EXPECT_TRUE(near(clusters[0].words.grad(), inputs[0].words.grad() + head.slice(0, 0, 4)));
  for (int64_t i = 1; i < 3; ++i) {
    const auto& cluster = clusters[static_cast<std::size_t>(i)];
    const auto& input = inputs[static_cast<std::size_t>(i)];
    EXPECT_TRUE(
        near(cluster.words.grad(),
             input.words.grad() + others[str_cat("output_layer.up_", i, ".weight")].grad()));
    const auto outer = down(others, i).grad();
    EXPECT_TRUE(near(cluster.projection.grad(),
                     is_shared(i) ? input.projection.grad() + outer.t() : input.projection.grad()));
    EXPECT_TRUE(is_shared(i) || near(down(own, i).grad(), outer));
  }
}

TEST_P(TiedWordEmbeddings, AreStoredOnce) {
  const auto model = fitted(tied_options());
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto options = read_model_config(folder.path());
  EXPECT_TRUE(options.tie_word_embeddings);
  const auto loaded = load_model(folder.path(), options, 9);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  EXPECT_TRUE(at::equal(loss_of(*loaded.model), loss_of(*model)));
  int64_t stored = 0;
  for (const auto& tensor : weight_map(options)) {
    stored += tensor.parameter.starts_with("output_layer.") ? tensor.elements() : 0;
  }
  const auto width = clusters_at(tied_path(*model), *model).front().words.size(1);
  const auto downs = GetParam().second ? 0 : width * (width / 2 + width / 4);
  EXPECT_EQ(stored, 2 * width + downs);
}

TEST_P(TiedWordEmbeddings, PredictTheSameInDecoding) {
  const auto model = fitted(tied_options());
  if (!generates(model->options())) {
    return;
  }
  const std::vector<int64_t> tokens = {3, 5, 6};
  const bool has_source = is_encoder_decoder(model->options());
  const std::vector<Prompt> prompts = {
      {.tokens = tokens,
       .source = has_source ? std::vector<int64_t>{5, 6, 2} : std::vector<int64_t>{}}};
  auto context = test::context_of({0, 3});
  nn::EncoderStates encoder_states;
  if (has_source) {
    encoder_states = {
        .states = model->encode({.ids = at::tensor(prompts[0].source, at::kLong), .patches = {}},
                                test::context_of({0, 3})),
        .layout = test::context_of({0, 3}).layout};
    context.encoder_states = &encoder_states;
  }
  const TextInput input{.ids = at::tensor(tokens, at::kLong)};
  const auto expected = model->lm_logits(model->hidden(input, context))[2];
  prepare_for_inference(*model, {.device = at::kCPU, .type = at::kFloat});
  const auto output = prepare_for_decoding(*model);
  ModelDecoder decoder(*model, output, prompts);
  EXPECT_TRUE(test::near(decoder.first()[0], expected, 1e-4));
}

/// The most frequent token in the buffer of this name, after a fit to one example.
int64_t first_token(const ModelOptions& options, const std::string& buffer) {
  const auto model = make_model(options, 1);
  const std::vector<int64_t> source = {7, 7, 7, 8};
  const std::vector<int64_t> ids = {3, 9, 9};
  const std::vector<int64_t> targets = {9, 9, 4, 4, 4};
  model->fit(
      {.visit =
           [&](const auto& visit) { visit({.ids = ids, .targets = targets, .source = source}); },
       .directory = ""});
  return model->named_buffers()[buffer][0].item<int64_t>();
}

TEST(WordEmbeddingCounts, AreOfTheTokensThatAreLookedUp) {
  for (const auto& [family, encoder, decoder] :
       {std::tuple{"bart", "embeddings.word.tokens", "decoder_embeddings.word.tokens"},
        std::tuple{"seq2seq_rnn", "source_words.tokens", "target_words.tokens"}}) {
    auto options = options_with_words({family, Head::kConditional});
    EXPECT_EQ(first_token(options, encoder), 7) << family;
    EXPECT_EQ(first_token(options, decoder), 9) << family;  // 9 9, without the targets
    options.decoder.share_encoder_decoder_embeddings = true;
    EXPECT_EQ(first_token(options, encoder), 7) << family;
    tie(options);
    EXPECT_EQ(first_token(options, encoder), 9) << family;  // 9 9, and as many in the targets
  }
  auto causal = options_with_words({"gpt2", Head::kCausalLm});
  EXPECT_EQ(first_token(causal, "embeddings.word.tokens"), 9);
  causal.layer_types.output = choice_of(output_types().at("adaptive"), kClusterKeys);
  EXPECT_EQ(first_token(causal, "output_layer.tokens"), 4);
}

TEST(WordEmbeddingInit, VectorsBeginWithTheSpreadOfATable) {
  for (const auto& [family, head] :
       {std::pair{"gpt2", Head::kCausalLm}, std::pair{"t5", Head::kConditional},
        std::pair{"feed_forward_lm", Head::kCausalLm},
        std::pair{"seq2seq_rnn", Head::kConditional}}) {
    auto options = options_with_words({family, head});
    options.vocabulary = 900;
    options.dim = 64;
    options.feed_forward_lm.hidden = 64;
    options.layer_types.embedding =
        choice_of(nn::token_embeddings().at("adaptive"), "cutoffs: [300, 600], factor: 2");
    const auto model = make_model(options, 1);
    for (const auto& [tokens, words, projection] : clusters_at(tied_path(*model), *model)) {
      EXPECT_NEAR(at::matmul(words, projection.t()).std().item<double>(), options.init_std,
                  0.1 * options.init_std)
          << family;
      EXPECT_NEAR(words.std().item<double>(), options.init_std, 0.05 * options.init_std);
    }
  }
}

ModelOptions read_options(const std::string& model) {
  const auto document = config::Document::parse("model: {" + model + "}", "test.yaml");
  ModelOptions options;
  document.read([&](config::Section root) {
    auto section = root.section("model", {.help = ""});
    options = read_model_options(section);
  });
  return options;
}

// 247M in fairseq's list of models: 16 layers, a vocabulary of 267,744 tokens, weights and
// projections of adaptive embeddings and softmax shared.
TEST(WordEmbeddingSizes, WikiText103ModelOfThePaper) {
  const std::string stack =
      "type: gpt2, dim: 1024, layers: 16, attention: {heads: 8}, feed_forward: {width: 4096}, "
      "position: {type: sinusoidal}, embedding: {type: adaptive, cutoffs: [20000, 60000]}, ";
  const auto parameters = [&](const std::string& output) {
    auto options = read_options(stack + output);
    options.head = Head::kCausalLm;
    options.vocabulary = 267744;
    int64_t count = 0;
    for (const auto& tensor : weight_map(options)) {
      count += tensor.dtype ? 0 : tensor.elements();
    }
    return count;
  };
  const std::string output = "output: {type: adaptive, cutoffs: [20000, 60000]";
  // 16 blocks of 12,596,224, the last norm, 44,015,616 of the words, 1,376,256 of the projections,
  // and two clusters.
  const auto tied = 16 * 12596224 + 2048 + 44015616 + 1376256 + 2048;
  EXPECT_EQ(parameters(output + ", tie_projections: true}"), tied);
  EXPECT_EQ((tied + 500000) / 1000000, 247);
  EXPECT_EQ(parameters(output + "}"), tied + 1024 * (256 + 64));
  EXPECT_EQ(parameters(output + "}, tie_word_embeddings: false"),
            tied + 1024 * (256 + 64) + 44015616);
}

TEST(WordEmbeddingConfigs, TieWherePossible) {
  const std::string words = "embedding: {type: adaptive, cutoffs: [4, 9]}, ";
  const std::string same = "output: {type: adaptive, cutoffs: [4, 9]}";
  const auto shares = [](const ModelOptions& options) {
    return shares_embedding(options.layer_types, options.tie_word_embeddings);
  };
  EXPECT_TRUE(shares(read_options("type: gpt2, " + words + same)));
  EXPECT_TRUE(shares(read_options("type: t5, tie_word_embeddings: true, " + words + same)));
  EXPECT_FALSE(shares(read_options("type: gpt2, tie_word_embeddings: false, " + words + same)));
  EXPECT_FALSE(shares(read_options("type: gpt2, " + same)));
  EXPECT_FALSE(shares(read_options("type: gpt2, " + words + "output: {type: hierarchical}")));
  const std::string feed_forward = "type: feed_forward_lm, dim: 8, hidden: 8, ";
  EXPECT_TRUE(shares(read_options(feed_forward + "tie_embeddings: always, " + words + same)));
  EXPECT_TRUE(
      shares(read_options("type: feed_forward_lm, dim: 8, kind: bilinear, " + words + same)));
  EXPECT_FALSE(shares(read_options(feed_forward + words + same)));
}

class WordEmbeddingErrors : public testing::TestWithParam<std::pair<const char*, const char*>> {};

INSTANTIATE_TEST_SUITE_P(
    Keys,
    WordEmbeddingErrors,
    testing::Values(
        std::pair{"type: gpt2, embedding: {type: adaptive}",
                  "model.tie_word_embeddings: true, must be false with embedding.type: adaptive"},
        std::pair{"type: bert, embedding: {type: characters}",
                  "model.tie_word_embeddings: true, must be false with embedding.type: characters"},
        std::pair{"type: gpt2, embedding: {type: adaptive}, output: {type: sampled}",
                  "model.tie_word_embeddings: true, must be false with embedding.type: adaptive"},
        std::pair{"type: gpt2, embedding: {type: adaptive}, output: {type: adaptive, cutoffs: [9]}",
                  "model.tie_word_embeddings: cutoffs and factor of output and embedding must be "
                  "the same"},
        std::pair{"type: gpt2, embedding: {type: adaptive}, output: {type: adaptive, factor: 2}",
                  "cutoffs and factor of output and embedding must be the same"},
        std::pair{"type: gpt2, output: {type: adaptive, tie_projections: true}",
                  "output.tie_projections has no effect"},
        std::pair{"type: gpt2, tie_word_embeddings: false, embedding: {type: adaptive}, output: "
                  "{type: adaptive, tie_projections: true}",
                  "output.tie_projections has no effect"},
        std::pair{"type: gpt2, tie_word_embeddings: true, embedding: {type: adaptive}, output: "
                  "{type: hierarchical}",
                  "model.tie_word_embeddings: has no effect with output.type: hierarchical"},
        std::pair{"type: bart, embedding: {type: adaptive}",
                  "model.embedding: tie_word_embeddings of bart is always true, must be false with "
                  "embedding.type: adaptive, which has no table of words to tie the output matrix "
                  "to; possible with output.type: adaptive"},
        std::pair{"type: reformer, embedding: {type: adaptive}, output: {type: adaptive, "
                  "tie_projections: true}",
                  "model.output: output.tie_projections has no effect"},
        std::pair{"type: feed_forward_lm, dim: 8, hidden: 8, tie_embeddings: always, embedding: "
                  "{type: adaptive}",
                  "model.tie_embeddings: the output matrix cannot be the word embeddings"},
        std::pair{"type: feed_forward_lm, dim: 8, hidden: 8, tie_embeddings: init, embedding: "
                  "{type: adaptive}",
                  "model.tie_embeddings: the output matrix cannot be the word embeddings"},
        std::pair{"type: feed_forward_lm, dim: 8, hidden: 8, tie_embeddings: always, embedding: "
                  "{type: adaptive}, output: {type: adaptive, factor: 2}",
                  "model.tie_embeddings: cutoffs and factor of output and embedding"},
        std::pair{"type: feed_forward_lm, dim: 8, kind: bilinear, embedding: {type: characters}",
                  "model.kind: the output matrix cannot be the word embeddings"},
        std::pair{"type: gpt2, embedding: {type: adaptive, cutoffs: [3, 2]}",
                  "model.embedding.cutoffs: each must be above the one before it"},
        std::pair{"type: gpt2, embedding: {type: adaptiv}", "did you mean 'adaptive'?"},
        std::pair{"type: gpt2, embedding: {cutoffs: [3]}", "model.embedding.cutoffs: "}));

TEST_P(WordEmbeddingErrors, AreNamed) {
  const auto& [keys, message] = GetParam();
  try {
    read_options(keys);
    FAIL() << "no error";
  } catch (const config::Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(WordEmbeddingConfigs, StoredTiesThatAreNotPossibleAreRefused) {
  auto options = options_with_words({"gpt2", Head::kCausalLm});
  tie(options);
  auto json = json_from_options(options, formats::DType::kF32);
  EXPECT_EQ(options_from_json(json, "config.json").layer_types, options.layer_types);
  json["weft_layer_types"]["output"]["cutoffs"] = {4, 8};
  EXPECT_THROW(options_from_json(json, "config.json"), UserError);
}

}  // namespace
}  // namespace weft::models
