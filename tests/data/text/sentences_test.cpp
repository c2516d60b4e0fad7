#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "data/text/text_source.h"

namespace weft::data {
namespace {

using Sentences = std::vector<std::string>;

Sentences split(std::string_view line, SentenceBoundary boundary = SentenceBoundary::kPunctuation) {
  Sentences sentences;
  visit_sentences(line, boundary,
                  [&](std::string_view sentence) { sentences.emplace_back(sentence); });
  return sentences;
}

TEST(Sentences, LinesStayWholeWithoutPunctuationRule) {
  EXPECT_EQ(split(" One. Two. \t", SentenceBoundary::kLine), (Sentences{"One. Two."}));
  EXPECT_EQ(split(" \t", SentenceBoundary::kLine), Sentences{});
}

TEST(Sentences, SentencesEndAtStopsBeforeCapitals) {
  EXPECT_EQ(split("It rained. We left!  Did you?"),
            (Sentences{"It rained.", "We left!", "Did you?"}));
  EXPECT_EQ(split("He paid 3.50 euros. then 4. 5 more"),
            (Sentences{"He paid 3.50 euros. then 4. 5 more"}));
  EXPECT_EQ(split("What?! No... Yes… Well."), (Sentences{"What?!", "No...", "Yes…", "Well."}));
  EXPECT_EQ(split("weft.train Is it"), (Sentences{"weft.train Is it"}));
  EXPECT_EQ(split("..."), (Sentences{"..."}));
  EXPECT_EQ(split(""), Sentences{});
}

TEST(Sentences, ClosingQuotesAndBracketsBelongToThem) {
  EXPECT_EQ(split("\"Come in.\" \"Why?\" (She sat.) He stood."),
            (Sentences{"\"Come in.\"", "\"Why?\"", "(She sat.)", "He stood."}));
  EXPECT_EQ(split("“Go.” ‘Now!’ Off."), (Sentences{"“Go.”", "‘Now!’", "Off."}));
  EXPECT_EQ(split("\"Oh!\" said he. Then"), (Sentences{"\"Oh!\" said he.", "Then"}));
}

TEST(Sentences, AbbreviationsAndInitialsDoNotEndASentence) {
  EXPECT_EQ(split("Mr. Eager met Dr. Bell. E. M. Forster wrote."),
            (Sentences{"Mr. Eager met Dr. Bell.", "E. M. Forster wrote."}));
  EXPECT_EQ(split("Some, e.g. Greeks, and (cf. Homer) others. So did I. Then"),
            (Sentences{"Some, e.g. Greeks, and (cf. Homer) others.", "So did I.", "Then"}));
}

TEST(Sentences, OtherScripts) {
  EXPECT_EQ(split("今日は雨。明日は「晴れ。」そう！"),
            (Sentences{"今日は雨。", "明日は「晴れ。」", "そう！"}));
  EXPECT_EQ(split("Идёт дождь. Мы дома. да"), (Sentences{"Идёт дождь.", "Мы дома. да"}));
  EXPECT_EQ(split("वह गया। वह आया।"), (Sentences{"वह गया।", "वह आया।"}));
  EXPECT_EQ(split("هل جاء؟ نعم."), (Sentences{"هل جاء؟", "نعم."}));
}

TEST(Sentences, HostileLinesTakeLinearTime) {
  std::string spaced;
  for (int count = 0; count < 200000; ++count) {
    spaced += "a.\u3000B";
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(split(std::string(1000000, '.') + " x").size(), 1U);
  EXPECT_EQ(split(std::string(500000, ')') + std::string(500000, '.') + " X").size(), 2U);
  EXPECT_GT(split(spaced).size(), 1U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Sentences, NothingIsLost) {
  const std::string line = "A b. C \"d!\" (E) f? G。H . I…";
  std::string joined;
  for (const auto& sentence : split(line)) {
    joined += sentence;
  }
  std::string expected = line;
  std::erase(expected, ' ');
  std::erase(joined, ' ');
  EXPECT_EQ(joined, expected);
}

}  // namespace
}  // namespace weft::data
