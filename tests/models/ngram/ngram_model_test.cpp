#include "models/ngram/ngram_model.h"

#include <cmath>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/config/family.h"
#include "models/decoding/model_decoder.h"
#include "models/decoding/search.h"
#include "models/directory.h"
#include "models/inference.h"
#include "support/context.h"
#include "support/folder.h"
#include "toy.h"

namespace weft::models {
namespace {

using test::kA;
using test::kB;
using test::kBegin;
using test::kC;
using test::kEnd;

ModelOptions toy_options() {
  auto options = family_defaults(family_named("ngram"));
  options.head = Head::kCausalLm;
  options.vocabulary = test::kToyVocabulary;
  options.bos_id = kBegin;
  options.eos_id = kEnd;
  options.ngram = {.order = 3, .smoothing = "witten_bell"};
  return options;
}

std::shared_ptr<Model> toy_model(const std::string& directory) {
  auto model = make_model(toy_options(), 1);
  model->fit({.visit =
                  [](const auto& visit) {
                    for (const auto& sequence : test::toy_corpus()) {
                      visit({.ids = sequence});
                    }
                  },
              .directory = directory});
  return model;
}

std::vector<double> losses_of(Model& model,
                              const std::vector<int64_t>& ids,
                              const std::vector<int64_t>& offsets,
                              const std::vector<int64_t>& targets) {
  const auto states =
      model.hidden({.ids = at::tensor(ids, at::kLong), .types = {}}, test::context_of(offsets));
  return model.lm_metrics(states, targets).losses;
}

TEST(NgramModel, IsFittedToSequencesInAnyPacking) {
  const test::Folder folder;
  auto packed = make_model(toy_options(), 1);
  packed->fit({.visit =
                   [](const auto& visit) {
                     std::vector<int64_t> all;
                     for (const auto& sequence : test::toy_corpus()) {
                       all.insert(all.end(), sequence.begin(), sequence.end());
                     }
                     visit({.ids = all});
                   },
               .directory = folder.path()});
  const auto model = toy_model(folder.path());
  for (const auto& buffer : model->named_buffers()) {
    EXPECT_TRUE(at::equal(buffer.value(), packed->named_buffers()[buffer.key()])) << buffer.key();
  }
}

TEST(NgramModel, LossesDoNotDependOnTheBatch) {
  const test::Folder folder;
  const auto model = toy_model(folder.path());
  const auto alone = losses_of(*model, {kBegin, kA, kC}, {0, 3}, {kA, kC, kEnd});
  const auto together =
      losses_of(*model, {kBegin, kB, kBegin, kA, kC}, {0, 2, 5}, {kB, kA, kA, kC, kEnd});
  EXPECT_EQ(alone, std::vector<double>(together.begin() + 2, together.end()));
  // In one sequence the next text begins with certainty, and without the history before it.
  const auto stream = losses_of(*model, {kBegin, kB, kEnd, kBegin, kA, kC}, {0, 6},
                                {kB, kEnd, kBegin, kA, kC, kEnd});
  EXPECT_EQ(stream[2], 0);
  EXPECT_EQ(alone, std::vector<double>(stream.begin() + 3, stream.end()));
}

TEST(NgramModel, LogitsAreLogProbabilities) {
  const test::Folder folder;
  const auto model = toy_model(folder.path());
  const auto states = model->hidden({.ids = at::tensor({kBegin, kA, kB}, at::kLong), .types = {}},
                                    test::context_of({0, 3}));
  const auto logits = model->lm_logits(states);
  const auto losses = model->lm_metrics(states, {kA, kB, kC}).losses;
  EXPECT_NEAR(-logits[0][kA].item<double>(), losses[0], 1e-6);
  EXPECT_NEAR(-logits[1][kB].item<double>(), losses[1], 1e-6);
  EXPECT_NEAR(-logits[2][kC].item<double>(), losses[2], 1e-6);
  EXPECT_TRUE(at::allclose(logits.exp().sum(1), at::ones({3})));
  EXPECT_NEAR(model->lm_loss(states, at::tensor({kA, kB, kC}, at::kLong), {}).item<double>(),
              losses[0] + losses[1] + losses[2], 1e-5);
}

TEST(NgramModel, SurvivesItsDirectory) {
  const test::Folder folder;
  const auto model = toy_model(folder.path());
  std::filesystem::create_directory(folder.path("model"));
  save_model(folder.path("model"), *model, formats::DType::kBF16);  // tables keep their type
  const auto loaded =
      load_model(folder.path("model"), read_model_config(folder.path("model")), 1).model;
  EXPECT_EQ(loaded->options().ngram, model->options().ngram);
  for (const auto& buffer : model->named_buffers()) {
    EXPECT_TRUE(at::equal(buffer.value(), loaded->named_buffers()[buffer.key()])) << buffer.key();
  }
  EXPECT_EQ(losses_of(*model, {kBegin, kA}, {0, 2}, {kA, kC}),
            losses_of(*loaded, {kBegin, kA}, {0, 2}, {kA, kC}));
}

TEST(NgramModel, RefusesDamagedTables) {
  const test::Folder folder;
  const auto damage = [&](const char* name, int64_t index, double value) {
    auto model = toy_model(folder.path());
    model->named_buffers()[name][index].fill_(value);
    EXPECT_THROW(model->finish_loading(), UserError) << name;
  };
  damage("tokens_2", 0, 99);
  damage("tokens_3", 0, -1);
  damage("first_child_1", 1, 1'000'000);
  damage("first_child_1", 0, -4);
  damage("first_child_2", 3, -1);
  damage("log_probability_1", 2, 0.5);
  damage("log_probability_3", 2, std::nan(""));
  damage("backoff_2", 1, std::nan(""));
}

TEST(NgramModel, GeneratesFromItsDistribution) {
  const test::Folder folder;
  const auto model = toy_model(folder.path());
  const auto output = prepare_for_decoding(*model);
  constexpr int64_t kDraws = 20'000;
  std::vector<Prompt> prompts;
  for (int64_t i = 0; i < kDraws; ++i) {
    prompts.push_back({.tokens = {kBegin, kA}, .index = i, .max_new_tokens = 2});
  }
  ModelDecoder decoder(*model, output, prompts);
  SearchOptions options;
  options.sampling = {.is_enabled = true, .seed = 5};
  options.eos_ids = {kEnd};
  const auto texts = search(decoder, prompts, options);
  const auto states = model->hidden({.ids = at::tensor({kBegin, kA}, at::kLong), .types = {}},
                                    test::context_of({0, 2}));
  const auto expected = model->lm_logits(states)[1].exp();
  std::vector<double> counts(test::kToyVocabulary);
  for (const auto& text : texts) {
    ++counts[static_cast<std::size_t>(text[0].tokens[0])];
  }
  double chi_square = 0;
  for (const auto token : {kEnd, kA, kB, kC}) {
    const double mean = kDraws * expected[token].item<double>();
    const double difference = counts[static_cast<std::size_t>(token)] - mean;
    chi_square += difference * difference / mean;
  }
  EXPECT_EQ(counts[kBegin], 0);
  EXPECT_LT(chi_square, 16.27);  // 3 degrees of freedom, 0.001
}

ModelOptions classifier_options(bool has_uniform_prior = false) {
  auto options = toy_options();
  options.head = Head::kSequence;
  options.labels = {"first", "second"};
  options.ngram.has_uniform_prior = has_uniform_prior;
  return options;
}

using Labelled = std::vector<std::pair<std::vector<int64_t>, int64_t>>;

std::shared_ptr<Model> classifier(const ModelOptions& options,
                                  const Labelled& texts,
                                  const std::string& directory) {
  auto model = make_model(options, 1);
  model->fit({.visit =
                  [&](const auto& visit) {
                    for (const auto& [ids, label] : texts) {
                      visit({.ids = ids, .label = label});
                    }
                  },
              .directory = directory});
  return model;
}

at::Tensor class_logits_of(Model& model, const std::vector<int64_t>& ids) {
  return model.classify({.ids = at::tensor(ids, at::kLong), .types = {}},
                        test::context_of({0, static_cast<int64_t>(ids.size())}))[0];
}

TEST(NgramClassifier, AppliesBayesRule) {
  const test::Folder folder;
  const Labelled texts = {{{kBegin, kA, kB, kA, kC, kEnd}, 0},
                          {{kBegin, kA, kB, kB, kEnd}, 0},
                          {{kBegin, kB, kA, kC, kEnd}, 1}};
  const auto model = classifier(classifier_options(), texts, folder.path());
  // The models of the classes alone.
  std::vector<double> expected = {std::log(2.0 / 3), std::log(1.0 / 3)};
  for (const int64_t label : {0, 1}) {
    auto language_model = make_model(toy_options(), 1);
    language_model->fit({.visit =
                             [&](const auto& visit) {
                               for (const auto& [ids, own] : texts) {
                                 if (own == label) {
                                   visit({.ids = ids});
                                 }
                               }
                             },
                         .directory = folder.path()});
    for (const auto loss : losses_of(*language_model, {kBegin, kB, kA}, {0, 3}, {kB, kA, kEnd})) {
      expected[static_cast<std::size_t>(label)] -= loss;
    }
  }
  const auto logits = class_logits_of(*model, {kBegin, kB, kA, kEnd});
  EXPECT_NEAR(logits[0].item<double>(), expected[0], 1e-5);
  EXPECT_NEAR(logits[1].item<double>(), expected[1], 1e-5);

  auto options = classifier_options(true);
  options.ngram.temperature = 2;
  const auto tempered =
      class_logits_of(*classifier(options, texts, folder.path()), {kBegin, kB, kA, kEnd});
  EXPECT_NEAR(tempered[1].item<double>(), (expected[1] - std::log(1.0 / 3)) / 2, 1e-5);
}

TEST(NgramClassifier, EqualModelsGiveThePrior) {
  const test::Folder folder;
  const std::vector<int64_t> text = {kBegin, kA, kB, kEnd};
  const auto model =
      classifier(classifier_options(), {{text, 0}, {text, 1}, {text, 1}, {text, 1}}, folder.path());
  // The second model counts each n-gram three times, which does not matter without smoothing.
  auto options = classifier_options();
  options.ngram.smoothing = "mle";
  const auto equal =
      classifier(options, {{text, 0}, {text, 1}, {text, 1}, {text, 1}}, folder.path());
  const auto probabilities = class_logits_of(*equal, text).softmax(0);
  EXPECT_NEAR(probabilities[0].item<double>(), 0.25, 1e-6);
  // A text that is impossible in both classes is not undefined.
  EXPECT_TRUE(class_logits_of(*equal, {kBegin, kC, kC, kEnd}).isfinite().all().item<bool>());
}

TEST(NgramClassifier, SurvivesItsDirectory) {
  const test::Folder folder;
  const auto model = classifier(
      classifier_options(), {{{kBegin, kA, kEnd}, 0}, {{kBegin, kB, kC, kEnd}, 1}}, folder.path());
  std::filesystem::create_directory(folder.path("model"));
  save_model(folder.path("model"), *model, formats::DType::kF32);
  const auto loaded =
      load_model(folder.path("model"), read_model_config(folder.path("model")), 1).model;
  EXPECT_TRUE(at::equal(class_logits_of(*loaded, {kBegin, kA, kC, kEnd}),
                        class_logits_of(*model, {kBegin, kA, kC, kEnd})));
}

TEST(NgramModel, DecodesLikeItReads) {
  const test::Folder folder;
  const auto model = toy_model(folder.path());
  const auto output = prepare_for_decoding(*model);
  const std::vector<Prompt> prompts = {{.tokens = {kBegin, kA}, .index = 0},
                                       {.tokens = {kBegin}, .index = 1}};
  ModelDecoder decoder(*model, output, prompts);
  decoder.first();
  const auto next = decoder.next({1, 0, 0}, {kB, kB, kC});
  const auto whole = [&](const std::vector<int64_t>& ids) {
    const auto states = model->hidden({.ids = at::tensor(ids, at::kLong), .types = {}},
                                      test::context_of({0, static_cast<int64_t>(ids.size())}));
    return model->lm_logits(states)[-1];
  };
  EXPECT_TRUE(at::equal(next[0], whole({kBegin, kB})));
  EXPECT_TRUE(at::equal(next[1], whole({kBegin, kA, kB})));
  EXPECT_TRUE(at::equal(next[2], whole({kBegin, kA, kC})));
}

}  // namespace
}  // namespace weft::models
