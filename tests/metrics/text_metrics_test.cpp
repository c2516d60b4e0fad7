#include <cstdlib>
#include <functional>
#include <tuple>

#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/error.h"
#include "formats/json.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/mecab.h"
#include "metrics/rouge.h"

namespace weft::metrics {
namespace {

using formats::Json;

constexpr double kNear = 1e-9;

/// Metrics of the public tools (scripts/make_text_metrics_reference.py).
const Json& reference() {
  static const auto json =
      formats::read_json(std::string(WEFT_SOURCE_DIR) + "/tests/reference/text_metrics.json");
  return json;
}

std::vector<std::string> hypotheses() {
  return reference()["hypotheses"].get<std::vector<std::string>>();
}

std::vector<std::string> references_of(const Json& group, std::size_t line) {
  std::vector<std::string> result;
  for (const auto& references : group["references"]) {
    result.push_back(references[line]);
  }
  return result;
}

template <class Value>
Value choice(const std::vector<std::pair<std::string_view, Value>>& table,
             const std::string& word) {
  for (const auto& [name, value] : table) {
    if (name == word) {
      return value;
    }
  }
  ADD_FAILURE() << word;
  return {};
}

BleuOptions bleu_options(const Json& setting) {
  BleuOptions options;
  options.tokenizer = choice(bleu_tokenizers(), setting.value("tokenize", "13a"));
  options.smoothing = choice(bleu_smoothings(), setting.value("smooth_method", "exp"));
  if (setting.contains("smooth_value")) {
    options.smoothing_value = setting["smooth_value"].get<double>();
  }
  options.is_lowercased = setting.value("lowercase", false);
  options.has_effective_order = setting.value("effective_order", false);
  return options;
}

/// `dictionary`: its part of the signature, after the tokenizer name.
void expect_bleu(const std::vector<std::string>& found,
                 const Json& group,
                 const std::string& dictionary = "") {
  for (const auto& wanted : group["bleu"]) {
    Bleu corpus(bleu_options(wanted));
    for (std::size_t i = 0; i < found.size(); ++i) {
      corpus.add(static_cast<int64_t>(i), found[i], references_of(group, i));
      Bleu line(bleu_options(wanted));
      line.add(0, found[i], references_of(group, i));
      EXPECT_NEAR(line.score().score, wanted["lines"][i].get<double>(), kNear)
          << wanted["signature"] << " " << found[i];
    }
    const auto score = corpus.score();
    EXPECT_NEAR(score.score, wanted["score"].get<double>(), kNear) << wanted["signature"];
    EXPECT_NEAR(score.brevity_penalty, wanted["bp"].get<double>(), kNear);
    EXPECT_EQ(score.length, wanted["lengths"][0].get<int64_t>());
    EXPECT_EQ(score.reference_length, wanted["lengths"][1].get<int64_t>());
    for (std::size_t n = 0; n < kBleuOrder; ++n) {
      EXPECT_NEAR(score.precisions[n], wanted["precisions"][n].get<double>(), kNear);
    }
    auto signature = wanted["signature"].get<std::string>();
    signature.insert(signature.find("|smooth:"), dictionary);
    EXPECT_EQ(corpus.signature(), signature);
  }
}

TEST(Bleu, EqualsSacrebleu) {
  for (const auto& group : reference()["groups"]) {
    expect_bleu(hypotheses(), group);
  }
}

TEST(Bleu, OfJapaneseEqualsSacrebleu) {
  std::string version;
  try {
    version = Mecab::instance().signature();
  } catch (const UserError& error) {
    GTEST_SKIP() << error.what();
  }
  const std::string usual = "0.996-IPA";
  ASSERT_TRUE(version == usual || version == usual + "-392127") << version;
  const auto& japanese = reference()["japanese"];
  expect_bleu(japanese["hypotheses"], japanese, version.substr(usual.size()));
}

TEST(Bleu, EmptyInputGivesEmptyOutput) {
  EXPECT_EQ(Bleu().score().score, 0);
  Bleu bleu;
  bleu.add(0, "", {"a b c d"});
  EXPECT_EQ(bleu.score().score, 0);
  EXPECT_EQ(bleu.score().brevity_penalty, 0);
}

TEST(Chrf, EqualsSacrebleu) {
  const auto found = hypotheses();
  for (const auto& group : reference()["groups"]) {
    for (const auto& wanted : group["chrf"]) {
      const ChrfOptions options{.character_order = wanted.value("char_order", int64_t{6}),
                                .word_order = wanted.value("word_order", int64_t{0}),
                                .beta = wanted.value("beta", 2.0),
                                .is_lowercased = wanted.value("lowercase", false),
                                .keeps_whitespace = wanted.value("whitespace", false)};
      Chrf corpus(options);
      for (std::size_t i = 0; i < found.size(); ++i) {
        corpus.add(static_cast<int64_t>(i), found[i], references_of(group, i));
        Chrf line(options);
        line.add(0, found[i], references_of(group, i));
        EXPECT_NEAR(line.score(), wanted["lines"][i].get<double>(), kNear) << found[i];
      }
      EXPECT_NEAR(corpus.score(), wanted["score"].get<double>(), kNear);
      EXPECT_EQ(corpus.signature(), wanted["signature"].get<std::string>());
      EXPECT_EQ(corpus.name(), wanted["name"].get<std::string>());
    }
  }
}

void expect_rouge(const RougeScore& found, const Json& wanted, const std::string& line) {
  EXPECT_NEAR(found.precision, wanted[0].get<double>(), kNear) << line;
  EXPECT_NEAR(found.recall, wanted[1].get<double>(), kNear) << line;
  EXPECT_NEAR(found.f1, wanted[2].get<double>(), kNear) << line;
}

TEST(Rouge, EqualsRougeScore) {
  const auto found = hypotheses();
  for (const auto& group : reference()["groups"]) {
    for (const auto& wanted : group["rouge"]) {
      for (std::size_t i = 0; i < found.size(); ++i) {
        Rouge line(wanted["stems"].get<bool>());
        line.add(0, found[i], references_of(group, i));
        const auto& row = wanted["rows"][i];
        const auto scores = line.mean();
        expect_rouge(scores.rouge_1, row["rouge1"], found[i]);
        expect_rouge(scores.rouge_2, row["rouge2"], found[i]);
        expect_rouge(scores.rouge_l, row["rougeL"], found[i]);
        expect_rouge(scores.rouge_lsum, row["rougeLsum"], found[i]);
      }
    }
  }
}

TEST(Rouge, MeanIsThatOfTheTexts) {
  Rouge rouge;
  rouge.add(0, "a b", {"a b"});
  rouge.add(1, "a b", {"c d"});
  EXPECT_DOUBLE_EQ(rouge.mean().rouge_1.f1, 0.5);
  EXPECT_DOUBLE_EQ(Rouge().mean().rouge_1.f1, 0);
}

/// Scores all hypotheses in one object, and in three that are merged out of order.
template <class Metric, class Result>
void expect_equal_when_merged(const std::function<Metric()>& make, const Result& result) {
  const auto found = hypotheses();
  const auto group = reference()["groups"][0];
  auto whole = make();
  std::vector<Metric> parts = {make(), make(), make()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto line = static_cast<int64_t>(i);
    whole.add(line, found[i], references_of(group, i));
    parts[(i * i) % parts.size()].add(line, found[i], references_of(group, i));
  }
  auto merged = make();
  for (const auto part : {2, 0, 1}) {
    merged.merge(parts[static_cast<std::size_t>(part)].serialize());
  }
  EXPECT_EQ(result(merged), result(whole));
  EXPECT_THROW(merged.merge(parts[0].serialize()), formats::Error);  // these lines are there
  const auto bytes = whole.serialize();
  EXPECT_THROW(make().merge(bytes.substr(0, bytes.size() / 2)), formats::Error);
  EXPECT_THROW(Rouge(true).merge(bytes), formats::Error);
}

TEST(TextMetrics, MergedPartsAreTheWhole) {
  expect_equal_when_merged<Bleu>([] { return Bleu(); },
                                 [](const Bleu& bleu) {
                                   return std::tuple(bleu.score().score, bleu.score().length,
                                                     bleu.signature());
                                 });
  expect_equal_when_merged<Chrf>(
      [] { return Chrf({.word_order = 2}); },
      [](const Chrf& chrf) { return std::pair(chrf.score(), chrf.signature()); });
  expect_equal_when_merged<Rouge>([] { return Rouge(); },
                                  [](const Rouge& rouge) {
                                    const auto mean = rouge.mean();
                                    return std::tuple(mean.rouge_1.f1, mean.rouge_2.recall,
                                                      mean.rouge_l.f1, mean.rouge_lsum.f1);
                                  });
  EXPECT_THROW(Chrf().merge(Chrf({.word_order = 2}).serialize()), formats::Error);
  EXPECT_THROW(Bleu().merge(Bleu({.is_lowercased = true}).serialize()), formats::Error);
}

TEST(PorterStemmer, StemsAsNltk) {
  for (const auto& [word, stem] : reference()["stems"].items()) {
    EXPECT_EQ(porter_stem(word), stem.get<std::string>()) << word;
  }
}

}  // namespace
}  // namespace weft::metrics
