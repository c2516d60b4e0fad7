#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/config/family.h"
#include "models/config/layer_types.h"
#include "models/directory.h"
#include "models/ngram/ngram_model.h"
#include "models/ngram/smoothing.h"
#include "models/ngram/token_set_mass.h"
#include "nn/carried_state.h"
#include "support/context.h"
#include "support/folder.h"
#include "support/tensors.h"
#include "toy.h"

namespace weft::models {
namespace {

using test::kA;
using test::kB;
using test::kBegin;
using test::kC;
using test::kEnd;

constexpr int64_t kFeatures = 6;

/// A directory with an n-gram model of the toy corpus, and output layers that use it.
class ShortlistOutputs : public testing::Test {
 protected:
  void save_ngram(const NgramOptions& ngram) {
    auto options = family_defaults(family_named("ngram"));
    options.head = Head::kCausalLm;
    options.vocabulary = test::kToyVocabulary;
    options.bos_id = kBegin;
    options.eos_id = kEnd;
    options.ngram = ngram;
    const auto model = make_model(options, 1);
    const auto visit_all = [](const auto& visit) {
      for (const auto& sequence : test::toy_corpus()) {
        visit({.ids = sequence});
      }
    };
    model->fit({.visit = visit_all, .directory = folder_.path()});
    save_model(folder_.path(), *model, formats::DType::kF32);
  }

  std::shared_ptr<nn::OutputLayer> layer(int64_t shortlist,
                                         int64_t vocabulary = test::kToyVocabulary) const {
    auto section = config::Document::parse("{ngram: '" + folder_.path() +
                                               "', shortlist: " + std::to_string(shortlist) + "}",
                                           "output")
                       .root();
    auto result = output_types()
                      .at("shortlist")
                      .read(section)({.width = kFeatures, .vocabulary = vocabulary});
    section.reject_unread();
    test::fill_parameters(*result, 0.7);
    return result;
  }

  /// With the tokens a, c, b, </s>, <s> by falling frequency.
  std::shared_ptr<nn::OutputLayer> fitted(int64_t shortlist) const {
    auto result = layer(shortlist);
    result->fit({.counts = {0, 1, 9, 2, 4}});
    return result;
  }

  const test::Folder folder_;
};

/// Two sequences that visit seen and unseen histories, one of them with two texts.
const std::vector<int64_t> kTrainingIds = {kBegin, kA, kB, kA, kC, kC, kBegin, kB, kB, kB, kA};
const std::vector<int64_t> kShortlistOffsets = {0, 9, 11};

nn::TokenStates toy_rows(nn::OutputLayer& layer, bool requires_grad = false) {
  const auto count = static_cast<int64_t>(kTrainingIds.size());
  return {
      (at::arange(count * kFeatures, at::kFloat).view({count, kFeatures}) * 1.3)
          .sin()
          .set_requires_grad(requires_grad),
      layer.histories(at::tensor(kTrainingIds, at::kLong), test::context_of(kShortlistOffsets))};
}

/// ln P of the n-gram model alone, (N, V).
at::Tensor ngram_alone(const std::string& directory) {
  const auto model = load_model(directory, read_model_config(directory), 1).model;
  return model->lm_logits(model->hidden({.ids = at::tensor(kTrainingIds, at::kLong)},
                                        test::context_of(kShortlistOffsets)));
}

TEST_F(ShortlistOutputs, SumTheShortlistAfterEveryHistoryForAllSmoothingMethods) {
  const std::vector<bool> is_member = {true, false, true, false, true};
  for (const auto& method : smoothing_methods()) {
    for (const int64_t order : {1, 2, 3, 4}) {
      const auto tables = test::toy_tables({.order = order,
                                            .smoothing = std::string(method.name),
                                            .fallback_discounts = {0.5, 1, 1.5}},
                                           folder_.path());
      const TokenSetMass mass(tables, is_member);
      for (const auto& text : std::vector<std::vector<int64_t>>{
               {kBegin}, {kA}, {kBegin, kA}, {kA, kB}, {kC, kC, kC}, {kB, kA, kC}, {kA, kB, kB}}) {
        const auto history = test::history_of(tables, text);
        double expected = 0;
        for (int64_t token = 0; token < test::kToyVocabulary; ++token) {
          expected += is_member[static_cast<std::size_t>(token)]
                          ? std::exp(tables.log_probability(history, token))
                          : 0;
        }
        EXPECT_NEAR(mass.after(history), expected, 1e-6) << method.name << order << " " << text[0];
      }
    }
  }
}

TEST_F(ShortlistOutputs, HistoriesOfStreamsContinueFromStepToStep) {
  save_ngram({.order = 4, .smoothing = "witten_bell"});
  const auto output = fitted(3);
  const std::vector<int64_t> text = {kA, kB, kA, kC, kC, kA, kBegin, kB, kB, kA, kC, kA};
  const std::vector<int64_t> other(text.rbegin(), text.rend());
  const auto length = static_cast<int64_t>(text.size());
  const auto whole = [&](const std::vector<int64_t>& ids) {
    return output->histories(at::tensor(ids, at::kLong), test::context_of({0, length}));
  };
  for (const int64_t step : {1, 2, 3, 5, 12}) {
    nn::CarriedState carried;
    std::vector<at::Tensor> of_text;
    std::vector<at::Tensor> of_other;
    for (int64_t begin = 0; begin < length; begin += step) {
      const auto count = std::min(step, length - begin);
      auto context = test::context_of({0, count, 2 * count});
      context.carried_state = &carried;
      context.streams = {6, 2};
      std::vector<int64_t> ids(text.begin() + begin, text.begin() + begin + count);
      ids.insert(ids.end(), other.begin() + begin, other.begin() + begin + count);
      output->histories(at::full({2 * count}, kC, at::kLong), context);
      carried.discard();  // of a step that is computed again
      const auto found = output->histories(at::tensor(ids, at::kLong), context);
      carried.commit();
      nn::CarriedState restored;
      restored.load(carried.tensors(), at::kCPU);  // as from a checkpoint
      carried = restored;
      of_text.push_back(found.narrow(0, 0, count));
      of_other.push_back(found.narrow(0, count, count));
    }
    EXPECT_TRUE(at::equal(at::cat(of_text), whole(text))) << step;
    EXPECT_TRUE(at::equal(at::cat(of_other), whole(other))) << step;
  }
}

TEST_F(ShortlistOutputs, LossOfAStreamDoesNotDependOnTheLengthOfItsSequences) {
  save_ngram({.order = 4, .smoothing = "witten_bell"});
  const auto output = fitted(2);
  const std::vector<int64_t> text = {kA, kB, kA, kC, kC, kA, kB, kB, kB, kA, kC, kA};
  const auto ids = at::tensor(text, at::kLong);
  const auto length = ids.numel();
  const auto states =
      (at::arange(length * kFeatures, at::kFloat).view({length, kFeatures}) * 1.3).sin();
  const auto targets = at::roll(ids, -1);
  const auto loss_of = [&](int64_t step, bool has_streams) {
    nn::CarriedState carried;
    double sum = 0;
    for (int64_t begin = 0; begin < length; begin += step) {
      const auto count = std::min(step, length - begin);
      auto context = test::context_of({0, count});
      if (has_streams) {
        context.carried_state = &carried;
        context.streams = {0};
      }
      const nn::TokenStates rows(states.narrow(0, begin, count),
                                 output->histories(ids.narrow(0, begin, count), context));
      sum += output->loss(rows, targets.narrow(0, begin, count), {}, context).item<double>();
      carried.commit();
    }
    return sum;
  };
  const auto expected = loss_of(length, false);
  for (const int64_t step : {1, 2, 5, 7, 12}) {
    EXPECT_NEAR(loss_of(step, true), expected, 1e-4) << step;
  }
  EXPECT_GT(std::abs(loss_of(2, false) - expected), 1e-2);
}

TEST_F(ShortlistOutputs, ProbabilitiesAddUpToOneForAnyParameters) {
  for (const auto& method : {"witten_bell", "add_k", "kneser_ney"}) {
    save_ngram({.order = 3, .smoothing = method});
    for (int64_t size = 0; size <= test::kToyVocabulary; ++size) {
      const auto output = fitted(size);
      const auto sums = output->logits(toy_rows(*output), {}).logsumexp(1);
      EXPECT_TRUE(test::near(sums, at::zeros_like(sums), 1e-6)) << method << size << "\n" << sums;
    }
  }
}

TEST_F(ShortlistOutputs, AreTheNetworkWithAllTokensAndTheNgramModelWithNone) {
  save_ngram({.order = 3, .smoothing = "witten_bell"});
  const auto all = fitted(test::kToyVocabulary);
  const auto rows = toy_rows(*all);
  const auto parameters = all->named_parameters();
  const auto scores =
      at::log_softmax(at::matmul(rows.states, parameters["weight"].t()) + parameters["bias"], 1);
  const auto order = at::tensor({kA, kC, kB, kEnd, kBegin}, at::kLong);
  EXPECT_TRUE(
      test::near(all->logits(rows, {}), at::empty_like(scores).index_copy(1, order, scores), 1e-6));
  const auto none = fitted(0);
  EXPECT_TRUE(at::equal(none->logits(toy_rows(*none), {}), ngram_alone(folder_.path())));
  const auto targets = at::tensor({kA, kB, kA, kC, kEnd, kEnd, kB, kB, kA, kB, kC}, at::kLong);
  EXPECT_TRUE(test::near(none->loss(toy_rows(*none), targets, {}, {}),
                         -ngram_alone(folder_.path()).gather(1, targets.unsqueeze(1)).sum(), 1e-5));
}

TEST_F(ShortlistOutputs, HaveTheProbabilitiesOfAHandComputedCase) {
  // Of a Witten-Bell bigram model, P(. | a) for a, b, c, </s> is 4/39, 17/39, 5/13 and 1/13.
  save_ngram({.order = 2, .smoothing = "witten_bell"});
  const auto output = fitted(2);  // a and c
  const auto parameters = output->named_parameters();
  {
    const at::NoGradGuard no_grad;
    parameters["weight"].zero_();
    parameters["bias"].copy_(at::tensor({std::log(3.0F), 0.0F}));  // 3/4 and 1/4
  }
  const auto found = output->logits(toy_rows(*output), {})[1].exp();  // after <s> a
  const double beta = 4.0 / 39 + 5.0 / 13;
  const auto expected =
      at::tensor({0.0, 1.0 / 13, 0.75 * beta, 17.0 / 39, 0.25 * beta}, at::kFloat);
  EXPECT_TRUE(test::near(found, expected, 1e-6)) << found << expected;
  const auto rows = toy_rows(*output);
  const auto loss = [&](int64_t target) {
    return output
        ->loss({rows.states.slice(0, 1, 2), rows.histories.slice(0, 1, 2)},
               at::tensor({target}, at::kLong), {}, {})
        .item<double>();
  };
  EXPECT_NEAR(loss(kA), -std::log(0.75 * beta), 1e-6);
  EXPECT_NEAR(loss(kB), -std::log(17.0 / 39), 1e-6);
}

TEST_F(ShortlistOutputs, HaveTheLossAndGradientsOfThePlainFormula) {
  save_ngram({.order = 3, .smoothing = "kneser_ney"});
  const auto output = fitted(2);
  const auto targets = at::tensor({kA, kB, kA, kC, kEnd, kA, kB, kB, kA, kB, kC}, at::kLong);
  const auto is_listed = at::tensor({0, 0, 1, 0, 1}, at::kLong);
  const auto rows = toy_rows(*output, /*requires_grad=*/true);
  const auto loss = output->loss(rows, targets, {}, {});
  loss.backward();
  const auto parameters = output->named_parameters();
  const std::vector<at::Tensor> found = {rows.states.grad().clone(),
                                         parameters["weight"].grad().clone(),
                                         parameters["bias"].grad().clone()};
  const auto plain_rows = toy_rows(*output, /*requires_grad=*/true);
  test::clear_gradients(*output);
  const auto ngram = ngram_alone(folder_.path()).exp();
  const auto beta = (ngram * is_listed).sum(1);
  const auto network =
      (at::matmul(plain_rows.states, parameters["weight"].t()) + parameters["bias"]).softmax(1);
  auto plain = at::zeros({});
  for (int64_t i = 0; i < targets.size(0); ++i) {
    const auto target = targets[i].item<int64_t>();
    plain = plain - (target == kA   ? network[i][0] * beta[i]
                     : target == kC ? network[i][1] * beta[i]
                                    : ngram[i][target])
                        .log();
  }
  plain.backward();
  EXPECT_TRUE(test::near(loss, plain, 1e-5)) << loss << plain;
  EXPECT_TRUE(test::near(found[0], plain_rows.states.grad(), 1e-6));
  EXPECT_TRUE(test::near(found[1], parameters["weight"].grad(), 1e-6));
  EXPECT_TRUE(test::near(found[2], parameters["bias"].grad(), 1e-6));
}

TEST_F(ShortlistOutputs, HaveALossWithoutTargetsOfTheNetwork) {
  save_ngram({.order = 2, .smoothing = "witten_bell"});
  const auto output = fitted(1);
  const auto rows = toy_rows(*output, /*requires_grad=*/true);
  const auto loss = output->loss(rows, at::full({11}, kB, at::kLong), {}, {});
  loss.backward();
  EXPECT_TRUE(at::equal(rows.states.grad(), at::zeros_like(rows.states)));
}

TEST_F(ShortlistOutputs, KeepTheNgramModelWhenBuffersAreConverted) {
  save_ngram({.order = 3, .smoothing = "witten_bell"});
  const auto output = fitted(2);
  const auto before = output->logits(toy_rows(*output), {});
  for (const auto& buffer : output->buffers()) {
    if (buffer.is_floating_point()) {
      buffer.set_data(buffer.to(at::kBFloat16));
    }
  }
  EXPECT_TRUE(at::equal(output->logits(toy_rows(*output), {}), before));
}

TEST_F(ShortlistOutputs, RefuseNgramModelsThatDoNotFit) {
  save_ngram({.order = 2, .smoothing = "witten_bell"});
  const auto message = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message([&] { layer(6); }).find("model.output.shortlist: 6, must be at most 5"),
            std::string::npos);
  const auto larger = layer(2, 7);
  EXPECT_NE(message([&] {
              larger->fit({.counts = std::vector<int64_t>(7)});
            }).find("has 5 tokens, must be 7"),
            std::string::npos);
  const auto output = layer(2);
  const auto tokens = [](const std::string& c) {
    return [=](const std::string& /*directory*/) {
      return std::vector<std::string>{"<s>", "</s>", "a", "b", c};
    };
  };
  nn::TokenStatistics statistics{
      .counts = {0, 1, 9, 2, 4},
      .token = [&](int64_t id) { return tokens("c")("")[static_cast<std::size_t>(id)]; },
      .tokens_of = tokens("d")};
  EXPECT_NE(message([&] { output->fit(statistics); }).find("token 4 is 'd', must be 'c'"),
            std::string::npos);
  statistics.tokens_of = tokens("c");
  EXPECT_EQ(message([&] { output->fit(statistics); }), "");
  statistics.counts = {1, 1, 9, 2, 4};
  EXPECT_NE(message([&] {
              output->fit(statistics);
            }).find("model.output.shortlist: 2, must be at least 4, so that it contains token 0"),
            std::string::npos);
  output->named_buffers()["tokens"].fill_(1);
  EXPECT_NE(message([&] { output->finish_loading(); }).find("the shortlist of the output layer"),
            std::string::npos);
  auto section = config::Document::parse("{ngram: nowhere}", "output").root();
  EXPECT_NE(message([&] {
              output_types().at("shortlist").read(section);
            }).find("ngram: nowhere: model not found"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::models
