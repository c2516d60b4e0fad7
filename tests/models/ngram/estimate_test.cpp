#include "models/ngram/estimate.h"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "models/ngram/arpa.h"
#include "support/folder.h"
#include "toy.h"

namespace weft::models {
namespace {

using test::kA;
using test::kB;
using test::kBegin;
using test::kC;
using test::kEnd;
using Tokens = std::vector<int64_t>;

struct ToyCase {
  const char* name;
  NgramOptions options;
  std::vector<double> after_a;      // of a, b, c, </s>
  std::vector<double> after_begin;  // the same
  double sentence;                  // ln P(a c </s>)
};

/// Computed by hand.
std::vector<ToyCase> toy_cases() {
  return {{"add_half",
           {.order = 2, .smoothing = "add_k", .k = 0.5},
           {1.0 / 12, 5.0 / 12, 5.0 / 12, 1.0 / 12},
           {1.0 / 2, 3.0 / 10, 1.0 / 10, 1.0 / 10},
           -2.038620},
          {"witten_bell",
           {.order = 2, .smoothing = "witten_bell"},
           {4.0 / 39, 17.0 / 39, 5.0 / 13, 1.0 / 13},
           {34.0 / 65, 21.0 / 65, 4.0 / 65, 6.0 / 65},
           -1.899804},
          {"kneser_ney",
           {.order = 2, .smoothing = "kneser_ney", .discount = 0.75},
           {3.0 / 32, 29.0 / 64, 23.0 / 64, 3.0 / 32},
           {13.0 / 24, 13.0 / 48, 1.0 / 16, 1.0 / 8},
           -1.966735}};
}

class ToyNgrams : public testing::TestWithParam<ToyCase> {};

TEST_P(ToyNgrams, EqualHandComputedProbabilities) {
  const test::Folder folder;
  const auto tables = test::toy_tables(GetParam().options, folder.path());
  const Tokens tokens = {kA, kB, kC, kEnd};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_NEAR(
        std::exp(tables.log_probability(test::history_of(tables, {kBegin, kB, kA}), tokens[i])),
        GetParam().after_a[i], 1e-6);
    EXPECT_NEAR(std::exp(tables.log_probability(test::history_of(tables, {kBegin}), tokens[i])),
                GetParam().after_begin[i], 1e-6);
  }
  double sentence = 0;
  Tokens before = {kBegin};
  for (const auto token : {kA, kC, kEnd}) {
    sentence += tables.log_probability(test::history_of(tables, before), token);
    before.push_back(token);
  }
  EXPECT_NEAR(sentence, GetParam().sentence, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Smoothing,
                         ToyNgrams,
                         testing::ValuesIn(toy_cases()),
                         [](const auto& each) { return std::string(each.param.name); });

std::vector<NgramOptions> all_smoothings() {
  std::vector<NgramOptions> result;
  for (const auto& method : smoothing_methods()) {
    for (const int64_t order : {1, 2, 3, 5}) {
      NgramOptions options{.order = order, .smoothing = std::string(method.name)};
      if (method.discount_keys == DiscountKeys::kOne) {
        options.discount = 0.75;
      }
      if (method.discount_keys == DiscountKeys::kThree) {
        options.fallback_discounts = {0.5, 1, 1.5};
      }
      result.push_back(options);
      if (method.may_prune && order > 1) {
        options.prune = {0, 1};
        result.push_back(options);
      }
    }
  }
  return result;
}

/// Histories of the toy corpus, and others.
std::vector<Tokens> toy_histories() {
  std::vector<Tokens> result = {{kBegin}, {kC, kC, kC}};
  for (const auto& sequence : test::toy_corpus()) {
    for (std::size_t end = 1; end < sequence.size(); ++end) {
      result.emplace_back(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  for (const auto a : {kA, kB, kC}) {
    for (const auto b : {kA, kB, kC}) {
      result.push_back({a, b});
    }
  }
  return result;
}

TEST(NgramEstimate, ProbabilitiesAddUpToOne) {
  const test::Folder folder;
  for (const auto& options : all_smoothings()) {
    const auto tables = test::toy_tables(options, folder.path());
    for (const auto& tokens : toy_histories()) {
      const auto history = test::history_of(tables, tokens);
      double sum = 0;
      for (int64_t token = 0; token < test::kToyVocabulary; ++token) {
        sum += std::exp(tables.log_probability(history, token));
      }
      // Maximum likelihood gives nothing to histories whose n-grams were pruned.
      EXPECT_NEAR(sum, 1, 1e-6) << options.smoothing << " " << options.order;
    }
  }
}

TEST(NgramEstimate, AddKWithSmallKIsMaximumLikelihoodOfWhatWasSeen) {
  const test::Folder folder;
  const auto mle = test::toy_tables({.order = 3, .smoothing = "mle"}, folder.path());
  const auto small = test::toy_tables({.order = 3, .smoothing = "add_k", .k = 1e-9}, folder.path());
  const auto history = test::history_of(mle, {kBegin, kA});
  EXPECT_NEAR(std::exp(mle.log_probability(history, kB)), 1, 1e-6);
  EXPECT_NEAR(std::exp(small.log_probability(history, kB)), 1, 1e-6);
  EXPECT_EQ(std::exp(mle.log_probability(history, kC)), 0);
}

TEST(NgramEstimate, ReportsDiscountsThatCannotBeEstimated) {
  const test::Folder folder;
  try {
    test::toy_tables({.order = 3, .smoothing = "modified_kneser_ney"}, folder.path());
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("the discounts of order"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("model.fallback_discounts: [0.5, 1, 1.5]"),
              std::string::npos);
  }
}

/// Texts of data/corpus, one per line, as tokens of an ARPA file.
std::vector<Tokens> corpus_of(const std::vector<std::string>& words) {
  std::map<std::string, int64_t> ids;
  for (const auto& word : words) {
    ids.emplace(word, static_cast<int64_t>(ids.size()) + 3);
  }
  std::vector<Tokens> result;
  for (const auto* name : {"kitchen.txt", "nature.txt"}) {
    std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/data/corpus/" + name);
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields(line);
      Tokens tokens = {1};
      for (std::string word; fields >> word;) {
        tokens.push_back(ids.at(word));
      }
      tokens.push_back(2);
      if (tokens.size() > 2) {
        result.push_back(std::move(tokens));
      }
    }
  }
  return result;
}

/// scripts/make_ngram_reference
void expect_kenlm(const std::string& name, const NgramOptions& options) {
  const test::Folder folder;
  const auto arpa = read_arpa(std::string(WEFT_SOURCE_DIR) + "/tests/reference/ngram/" + name);
  const auto vocabulary = arpa.model->options().vocabulary;
  std::vector<bool> is_predicted(static_cast<std::size_t>(vocabulary), true);
  is_predicted[1] = false;
  const auto estimate = estimate_ngrams(
      test::count_ngrams(
          corpus_of(arpa.words),
          {.order = options.order, .vocabulary = vocabulary, .directory = folder.path()}),
      {.options = options, .is_predicted = is_predicted, .directory = folder.path()});
  const auto& expected = arpa.model->tables().orders();
  ASSERT_EQ(estimate.orders.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& ours = estimate.orders[i];
    EXPECT_TRUE(i == 0 || at::equal(ours.tokens, expected[i].tokens)) << name << " " << i;
    EXPECT_TRUE(at::allclose(ours.log_probability, expected[i].log_probability, 0, 1e-5));
    if (i + 1 < expected.size()) {
      EXPECT_TRUE(at::equal(ours.first_child, expected[i].first_child)) << name << " " << i;
      EXPECT_TRUE(at::allclose(ours.backoff, expected[i].backoff, 0, 1e-5)) << name << " " << i;
    }
  }
}

TEST(NgramEstimate, ProbabilitiesAddUpToOneAfterRandomHistories) {
  const auto arpa =
      read_arpa(std::string(WEFT_SOURCE_DIR) + "/tests/reference/ngram/kenlm_3.arpa.gz");
  const auto& tables = arpa.model->tables();
  const auto words = static_cast<uint64_t>(tables.vocabulary());
  Random random(1, RandomPurpose::kSample, 0, 0);
  std::vector<float> all(words);
  for (int i = 0; i < 1000; ++i) {
    // Every second history was seen.
    const auto first = static_cast<int64_t>(random.uniform_int(words));
    const auto* begins = tables.orders()[0].first_child.const_data_ptr<int32_t>() + first;
    const bool is_seen = i % 2 == 0 && begins[0] < begins[1];
    const int64_t second = is_seen ? tables.orders()[1].tokens.const_data_ptr<int32_t>()[begins[0]]
                                   : static_cast<int64_t>(random.uniform_int(words));
    tables.log_probabilities(test::history_of(tables, {first, second}), all);
    double sum = 0;
    for (const auto value : all) {
      sum += std::exp(static_cast<double>(value));
    }
    EXPECT_NEAR(sum, 1, 1e-5) << first << " " << second;
  }
}

TEST(NgramEstimate, EqualsKenLm) { expect_kenlm("kenlm_3.arpa.gz", {.order = 3}); }

TEST(NgramEstimate, EqualsKenLmWithPruning) {
  expect_kenlm("kenlm_3_pruned.arpa.gz", {.order = 3, .prune = {0, 0, 1}});
}

TEST(NgramEstimate, TokensThatWereNotSeenShareTheMassOfOrder1) {
  const test::Folder folder;
  std::vector<bool> is_predicted(test::kToyVocabulary + 2, true);
  is_predicted[kBegin] = false;
  NgramOptions options{.order = 2, .smoothing = "witten_bell"};
  auto estimate = estimate_ngrams(
      test::count_ngrams(
          test::toy_corpus(),
          {.order = 2, .vocabulary = test::kToyVocabulary + 2, .directory = folder.path()}),
      {.options = options, .is_predicted = is_predicted, .directory = folder.path()});
  const NgramTables tables(std::move(estimate.orders));
  // Four of the six tokens occur, 13 times in all: (0 + 4 / 6) / (13 + 4).
  EXPECT_NEAR(std::exp(tables.log_probability(test::history_of(tables, {kEnd}), 6)), 4.0 / 6 / 17,
              1e-6);
}

TEST(NgramTables, FindTheMostLikelyToken) {
  const test::Folder folder;
  for (const auto& options : all_smoothings()) {
    const auto tables = test::toy_tables(options, folder.path());
    for (const auto& tokens : toy_histories()) {
      const auto history = test::history_of(tables, tokens);
      std::vector<float> all(test::kToyVocabulary);
      tables.log_probabilities(history, all);
      int64_t best = 0;
      for (int64_t token = 0; token < test::kToyVocabulary; ++token) {
        const double one = tables.log_probability(history, token);
        const auto listed = all[static_cast<std::size_t>(token)];
        EXPECT_TRUE(one == listed || std::abs(one - listed) < 1e-5) << options.smoothing;
        best = one > tables.log_probability(history, best) ? token : best;
      }
      EXPECT_EQ(tables.most_likely(history), best) << options.smoothing << " " << options.order;
    }
  }
}

}  // namespace
}  // namespace weft::models
