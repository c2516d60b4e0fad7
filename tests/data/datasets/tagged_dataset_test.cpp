#include "data/datasets/tagged_dataset.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <zlib.h>

#include "data/error.h"
#include "data/rows/tagged_rows.h"
#include "formats/error.h"
#include "support/data_item.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

using Ids = std::vector<int64_t>;
using WordList = std::vector<std::string>;

class TaggedDatasetTest : public ::testing::Test {
 protected:
  DataItem item(const std::string& name, const std::string& content) {
    return test::data_item(folder_, name, content);
  }

  std::shared_ptr<const TaggedDataset> make(const std::vector<DataItem>& items,
                                            const TaggedSettings& settings = {}) {
    return make_tagged_dataset(items, settings, tokenizer_);
  }

  std::string message(const std::vector<DataItem>& items, const TaggedSettings& settings = {}) {
    try {
      make(items, settings);
    } catch (const UserError& error) {
      std::string text = error.what();
      const auto at = text.find(folder_.path() + "/");
      return at == std::string::npos ? text : text.erase(at, folder_.path().size() + 1);
    }
    return "nothing thrown";
  }

  test::Folder folder_;
  std::shared_ptr<const Tokenizer> tokenizer_ = std::make_shared<test::ToyTokenizer>(
      WordList{"a", "b", "c", "d", "##x", "##y"});  // from 5 on
};

TEST_F(TaggedDatasetTest, TypesAreTheLanguageOfTheItem) {
  auto result = item("x.conll", "a##x O\nb B-P\n");
  result.language = "en";
  const TaggedSettings settings{.has_token_type_ids = false, .languages = {"de", "en"}};
  EXPECT_EQ(make({result}, settings)->example(0, 0).token_type_ids, Ids(5, 1));
  result.language = "sw";
  EXPECT_EQ(message({result}, settings),
            "x.conll: language: 'sw', must be one of the model's languages: de, en");
}

TEST_F(TaggedDatasetTest, LabelsTheFirstPieceOfEachWord) {
  const auto dataset = make({item("x.conll", "a##x O\nb B-P\n\nc##x##y\tI-P\n")});
  EXPECT_EQ(dataset->labels(), (WordList{"B-P", "I-P", "O"}));
  ASSERT_EQ(dataset->size(0), 2);
  const auto first = dataset->example(0, 0);
  EXPECT_EQ(first.ids, (Ids{2, 5, 9, 6, 3}));
  EXPECT_EQ(first.token_type_ids, (Ids{0, 0, 0, 0, 0}));
  EXPECT_EQ(first.target_positions, (Ids{1, 3}));
  EXPECT_EQ(first.targets, (Ids{2, 0}));
  EXPECT_EQ(first.label, kIgnoreIndex);
  EXPECT_EQ(dataset->words(0, 0), (WordList{"a##x", "b"}));
  EXPECT_EQ(dataset->length(0, 0), 5);
  EXPECT_EQ(dataset->example(0, 1).target_positions, (Ids{1}));
  EXPECT_TRUE(dataset->location(0, 1).ends_with("x.conll:4"));
  EXPECT_TRUE(dataset->remarks().empty());
}

TEST_F(TaggedDatasetTest, OtherTagsReplaceTheKnownOnes) {
  const auto data = item("x.conll", "a##x O\nb B-P\n\nc##x##y\tO\n");
  TaggedSettings settings{.labels = {"O", "B-Q"}, .may_replace_labels = true};
  EXPECT_EQ(make({data}, settings)->labels(), (WordList{"B-P", "O"}));
  EXPECT_EQ(make({data}, settings)->class_counts(), (Ids{1, 2}));
  settings.labels = {"O", "B-Q", "B-P"};
  EXPECT_EQ(make({data}, settings)->labels(), settings.labels);
  EXPECT_EQ(make({data}, settings)->class_counts(), (Ids{2, 0, 1}));
}

TEST_F(TaggedDatasetTest, LabelsAllPiecesWithTheInnerTag) {
  const auto dataset =
      make({item("x.conll", "a##x B-P\nb##y I-P\nc##x O\nd##x B-Q\n")}, {.label_all_tokens = true});
  const auto example = dataset->example(0, 0);  // B-P 0, B-Q 1, I-P 2, O 3
  EXPECT_EQ(example.target_positions, (Ids{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(example.targets, (Ids{0, 2, 2, 2, 3, 3, 1, 1}));
}

TEST_F(TaggedDatasetTest, ReadsTheSameFromEveryKindOfFile) {
  const auto expected = make({item("x.conll", "a X\nb##x Y\n\nc X\n")});
  DataItem numbered = item("n.txt", "X 1 a\nY 2 b##x\n\nX 3 c\n");
  numbered.text = "3";
  numbered.label = "1";
  DataItem named = item("k.jsonl",
                        "{\"w\": [\"a\", \"b##x\"], \"t\": [\"X\", \"Y\"]}\n"
                        "{\"w\": [\"c\"], \"t\": [\"X\"]}\n");
  named.text = "w";
  named.label = "t";
  for (const DataItem& from :
       {item("a.conll", "-DOCSTART- -X- O\n\na p X\r\nb##x p Y\r\n\r\n\r\nc p X"),
        item("b.tsv", "a\tX\nb##x\tY\n \nc\tX\n"),
        item("c.jsonl",
             "{\"words\": [\"a\", \"b##x\"], \"labels\": [\"X\", \"Y\"]}\n\n"
             "{\"tokens\": [\"c\"], \"ner_tags\": [\"X\"]}\n"),
        item("d.conllu",
             "# text = a b\n1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n2-3\tbx\t_\t_\t_\t_\t_\t_\t_\t_\n"
             "2\tb##x\t_\tY\t_\t_\t_\t_\t_\t_\n\n1\tc\t_\tX\t_\t_\t_\t_\t_\t_\n\n"),
        numbered, named}) {
    const auto dataset = make({from});
    ASSERT_EQ(dataset->size(0), 2) << from.path;
    for (int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(dataset->example(0, i).ids, expected->example(0, i).ids) << from.path;
      EXPECT_EQ(dataset->example(0, i).targets, expected->example(0, i).targets) << from.path;
    }
    EXPECT_EQ(dataset->fingerprint(), expected->fingerprint()) << from.path;
  }
}

TEST_F(TaggedDatasetTest, ReadsPackedFiles) {
  DataItem from = item("x.conll.gz", "");
  gzFile file = gzopen(from.path.c_str(), "wb");
  gzputs(file, "a X\nb Y\n");
  gzclose(file);
  EXPECT_EQ(make({from})->example(0, 0).ids, (Ids{2, 5, 6, 3}));
}

TEST_F(TaggedDatasetTest, NumbersKeepTheirPosition) {
  const auto counted =
      make({item("x.jsonl", "{\"words\": [\"a\", \"b\"], \"ner_tags\": [3, 0]}\n")});
  EXPECT_EQ(counted->labels(), (WordList{"0", "1", "2", "3"}));
  EXPECT_EQ(counted->example(0, 0).targets, (Ids{3, 0}));
  const auto known = make({item("y.jsonl", "{\"words\": [\"a\", \"b\"], \"tags\": [2, \"O\"]}\n")},
                          {.labels = {"O", "B-P", "I-P"}});
  EXPECT_EQ(known->example(0, 0).targets, (Ids{2, 0}));
}

TEST_F(TaggedDatasetTest, TruncatesAndReportsTheDroppedWords) {
  const auto dataset = make({item("x.conll", "a##x X\nb##x X\nc Y\n\na X\n")}, {.length = 5});
  EXPECT_EQ(dataset->example(0, 0).ids, (Ids{2, 5, 9, 6, 3}));
  EXPECT_EQ(dataset->example(0, 0).target_positions, (Ids{1, 3}));
  ASSERT_EQ(dataset->remarks().size(), 1U);
  EXPECT_TRUE(dataset->remarks()[0].ends_with(
      "1 sentence longer than 5 tokens was truncated, 1 word was dropped"));
}

TEST_F(TaggedDatasetTest, SplitsBetweenWordsWithoutLoss) {
  const auto dataset = make({item("x.conll", "a##x X\nb##x X\nc Y\nd##x##y##x X\na Y\n\nb X\n")},
                            {.length = 5, .truncation = Truncation::kSplit});
  std::vector<Ids> ids;
  int64_t words = 0;
  for (int64_t i = 0; i < dataset->size(0); ++i) {
    ids.push_back(dataset->example(0, i).ids);
    words += static_cast<int64_t>(dataset->example(0, i).targets.size());
  }
  EXPECT_EQ(ids, (std::vector<Ids>{
                     {2, 5, 9, 3}, {2, 6, 9, 7, 3}, {2, 8, 9, 10, 3}, {2, 5, 3}, {2, 6, 3}}));
  EXPECT_EQ(words, 6);
  EXPECT_TRUE(dataset->location(0, 2).ends_with("x.conll:4"));
}

TEST_F(TaggedDatasetTest, WordsAreTheLabelledOnesInTheSequence) {
  const auto file = item("long.conll", "a X\nb X\nc##x##y X\nd X\n");
  for (const auto truncation : {Truncation::kTruncate, Truncation::kSplit}) {
    const auto dataset = make({file}, {.length = 6, .truncation = truncation});
    for (int64_t i = 0; i < dataset->size(0); ++i) {
      EXPECT_EQ(dataset->words(0, i).size(), dataset->example(0, i).targets.size()) << i;
    }
    EXPECT_EQ(dataset->words(0, 0).front(), "a");
  }
  const auto split = make({file}, {.length = 6, .truncation = Truncation::kSplit});
  EXPECT_EQ(split->words(0, split->size(0) - 1).back(), "d");
}

TEST_F(TaggedDatasetTest, BlankLinesOfJsonAreCounted) {
  const auto dataset = make({item("x.jsonl",
                                  "{\"words\": [\"a\"], \"tags\": [\"X\"]}\n\n \n"
                                  "{\"words\": [\"b\"], \"tags\": [\"Y\"]}\n")});
  EXPECT_EQ(dataset->size(0), 2);
  ASSERT_EQ(dataset->remarks().size(), 1U);
  EXPECT_TRUE(dataset->remarks()[0].ends_with("x.jsonl: 2 blank lines were ignored"));
}

TEST_F(TaggedDatasetTest, WordsThatAreNotUtf8AreRepairedAndCounted) {
  const auto dataset = make({item("x.conll", "a\xFF X\nb Y\n")});
  EXPECT_EQ(dataset->words(0, 0).front(), "a\uFFFD");
  ASSERT_EQ(dataset->remarks().size(), 1U);
  EXPECT_TRUE(dataset->remarks()[0].ends_with(
      "x.conll: 1 word with invalid UTF-8 was repaired: U+FFFD replaces the invalid bytes"));
}

TEST_F(TaggedDatasetTest, DropsAndReportsIt) {
  const auto dataset = make({item("x.conll", "a##x X\nb##x Y\n\na X\n")},
                            {.length = 5, .truncation = Truncation::kDrop});
  ASSERT_EQ(dataset->size(0), 1);
  EXPECT_EQ(dataset->labels(), (WordList{"X", "Y"}));
  EXPECT_TRUE(dataset->remarks()[0].ends_with("1 sentence longer than 5 tokens was dropped"));
}

TEST_F(TaggedDatasetTest, ParquetHasOneSentencePerRow) {
  DataItem tagged;
  tagged.path = WEFT_SOURCE_DIR "/tests/reference/parquet/tagged.parquet";
  tagged.files = {tagged.path};
  const auto rows = read_tagged_rows(tagged);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.word(0), "Ada");
  EXPECT_EQ(rows.word(rows.begin(1)), "Hi");
  EXPECT_EQ(rows.location(3), tagged.path + ":2");
  ASSERT_EQ(rows.names().size(), 2U);
  EXPECT_EQ(rows.names()[0].name, "1");
  EXPECT_TRUE(rows.names()[0].is_number);  // an index, as in JSON lines
  tagged.label = "names";
  EXPECT_EQ(read_tagged_rows(tagged).names()[0].name, "P");
  EXPECT_FALSE(read_tagged_rows(tagged).names()[0].is_number);
  tagged.label = "tag";
  EXPECT_NE(message({tagged}).find("no column 'tag'"), std::string::npos) << message({tagged});
}

TEST_F(TaggedDatasetTest, ErrorsNameFileAndLine) {
  EXPECT_EQ(message({item("x.conll", "a X\n\nb\n")}),
            "x.conll:3: one column, every line must have a word and its tag, or be empty");
  EXPECT_EQ(message({item("x.conll", "a p X\nb X\n")}), "x.conll:2: 2 columns, but line 1 has 3");
  EXPECT_EQ(message({item("x.conll", "a\tX\nb\t\n")}), "x.conll:2: a word without a tag");
  EXPECT_EQ(message({item("x.conll", "\n-DOCSTART- O\n\n")}),
            "x.conll: no sentences, must have at least one");
  EXPECT_EQ(message({item("x.csv", "a,b\n")}),
            "x.csv: a table, sentences with tags must be in jsonl or parquet files or in CoNLL "
            "format (one word per line)");
  EXPECT_EQ(message({item("x.jsonl", "{\"words\": [\"a\"], \"tags\": []}\n")}),
            "x.jsonl:1: 1 words and 0 tags, must be one tag per word");
  EXPECT_EQ(message({item("x.jsonl", "{\"words\": [\"a\"]}\n")}),
            "x.jsonl:1: no list labels or tags or ner_tags, every row must have one");
  EXPECT_EQ(
      message({item("x.jsonl", "{\"sentences\": [\"a\"], \"tags\": [\"b\"]}\n")}),
      "x.jsonl:1: no list words or tokens, every row must have one; a list of sentences needs "
      "model.document");
  EXPECT_EQ(message({item("x.jsonl", "{\"words\": \"a\", \"tags\": []}\n")}),
            "x.jsonl:1: \"words\" is not a list");
  EXPECT_EQ(message({item("x.jsonl", "{\"words\": [\"a\"], \"tags\": [1.5]}\n")}),
            "x.jsonl:1: a tag that is neither a string nor an integer");
  EXPECT_EQ(message({item("x.conll", "a O\n\nb B-P\nc I-PRE\n")}, {.labels = {"B-P", "I-P", "O"}}),
            "x.conll:4: 'I-PRE' is not one of the classes B-P, I-P, O (did you mean 'I-P'?)");
  DataItem wide = item("x.conll", "a X\n");
  wide.label = "4";
  EXPECT_EQ(message({wide}), "x.conll:1: column 4 was requested, but the file has only 2");
}

TEST_F(TaggedDatasetTest, FingerprintDependsOnTagsAndSettings) {
  const auto base = make({item("x.conll", "a X\nb Y\n")})->fingerprint();
  EXPECT_EQ(make({item("y.conll", "a X\nb Y\n")})->fingerprint(), base);
  EXPECT_NE(make({item("x.conll", "a Y\nb X\n")})->fingerprint(), base);
  EXPECT_NE(make({item("x.conll", "a X\n\nb Y\n")})->fingerprint(), base);
  EXPECT_NE(make({item("x.conll", "a X\nb Y\n")}, {.label_all_tokens = true})->fingerprint(), base);
}

constexpr const char* kTaggedDocuments =
    "{\"sentences\": [\"a b\", \"c\", \"\"], \"labels\": [\"yes\", \"no\", \"no\"]}\n\n"
    "{\"sentences\": [\"d##x a b\", \"d\"], \"labels\": [\"no\", \"yes\"]}\n"
    "{\"sentences\": [], \"labels\": []}\n";

TaggedSettings document_settings(const SentenceLimits& limits) {
  return {.length = limits.length, .sentences = limits};
}

TEST_F(TaggedDatasetTest, TagsOfDocumentsAreAtTheEndsOfTheirSentences) {
  const auto dataset = make({item("x.jsonl", kTaggedDocuments)}, document_settings({}));
  EXPECT_EQ(dataset->unit(), "sentence");
  EXPECT_EQ(dataset->labels(), (WordList{"no", "yes"}));
  EXPECT_EQ(dataset->class_counts(), (Ids{3, 2}));
  ASSERT_EQ(dataset->size(0), 2);
  const auto first = dataset->example(0, 0);
  EXPECT_EQ(first.ids, (Ids{2, 5, 6, 3, 2, 7, 3, 2, 3}));
  EXPECT_EQ(first.token_type_ids, Ids(9, 0));
  EXPECT_EQ(first.sentence_lengths, (Ids{4, 3, 2}));
  EXPECT_EQ(first.target_positions, (Ids{3, 6, 8}));
  EXPECT_EQ(first.targets, (Ids{1, 0, 0}));
  EXPECT_EQ(dataset->length(0, 0), 9);
  EXPECT_EQ(dataset->words(0, 0), (WordList{"a b", "c", ""}));
  const auto second = dataset->example(0, 1);
  EXPECT_EQ(second.ids, (Ids{2, 8, 9, 5, 6, 3, 2, 8, 3}));
  EXPECT_EQ(second.targets, (Ids{0, 1}));
  EXPECT_TRUE(dataset->location(0, 1).ends_with("x.jsonl:3"));
  ASSERT_EQ(dataset->remarks().size(), 2U);
  EXPECT_TRUE(dataset->remarks()[1].ends_with("1 document without sentences was skipped"));
}

TEST_F(TaggedDatasetTest, LongDocumentsAreTruncatedOrDropped) {
  const auto file = item("x.jsonl", kTaggedDocuments);
  auto settings = document_settings({.sentences = 2, .sentence_length = 5, .length = 10});
  const auto dataset = make({file}, settings);
  EXPECT_EQ(dataset->example(0, 0).target_positions, (Ids{3, 6}));
  EXPECT_EQ(dataset->words(0, 0), (WordList{"a b", "c"}));
  EXPECT_EQ(dataset->example(0, 1).sentence_lengths, (Ids{5, 3}));
  EXPECT_EQ(dataset->class_counts(), (Ids{2, 2}));
  EXPECT_TRUE(dataset->remarks()[0].ends_with(
      "x.jsonl: 2 documents longer than 2 sentences of 5 tokens, 10 in all, were truncated, 1 "
      "sentence was dropped"))
      << dataset->remarks()[0];
  settings = document_settings({.sentences = 2});
  settings.truncation = Truncation::kDrop;
  const auto dropped = make({file}, settings);
  ASSERT_EQ(dropped->size(0), 1);
  EXPECT_EQ(dropped->example(0, 0).ids, (Ids{2, 8, 9, 5, 6, 3, 2, 8, 3}));
  EXPECT_TRUE(dropped->remarks()[0].ends_with("1500 in all, was dropped"));
  settings.truncation = Truncation::kSplit;
  EXPECT_EQ(message({file}, settings),
            "data.overflow: split is only for running text and tagged words, must be cut or drop "
            "for documents of tagged sentences");
}

TEST_F(TaggedDatasetTest, ErrorsOfDocumentsNameFileAndLine) {
  const auto settings = document_settings({});
  EXPECT_EQ(message({item("x.conll", "a X\n")}, settings),
            "x.conll: documents of sentences with tags must be in jsonl or parquet files, with "
            "lists `sentences` and `labels`");
  EXPECT_EQ(message({item("x.jsonl", "{\"sentences\": [\"a\"], \"labels\": []}\n")}, settings),
            "x.jsonl:1: 1 sentences and 0 tags, must be one tag per sentence");
  EXPECT_EQ(message({item("x.jsonl", "{\"words\": [\"a\"], \"labels\": [1]}\n")}, settings),
            "x.jsonl:1: no list sentences, every row must have one");
  EXPECT_EQ(message({item("x.jsonl", "{\"sentences\": [1], \"labels\": [1]}\n")}, settings),
            "x.jsonl:1: a sentence that is not a string");
  EXPECT_EQ(message({item("x.jsonl", "{\"sentences\": [\"a\"], \"labels\": [\"\"]}\n")}, settings),
            "x.jsonl:1: an empty tag, every sentence must have one");
  EXPECT_EQ(message({item("x.jsonl", "{\"sentences\": [], \"labels\": []}\n")}, settings),
            "x.jsonl: no documents, must have at least one");
  EXPECT_EQ(message({item("x.jsonl", kTaggedDocuments)}, document_settings({.sentence_length = 2})),
            "model.document.sentence_length: 2 tokens, must be larger than the number of special "
            "tokens (2)");
}

TEST_F(TaggedDatasetTest, ListsOfDocumentsHaveTheNamesOfTheItem) {
  auto named = item("x.jsonl", "{\"s\": [\"a\", \"b\"], \"t\": [1, 0]}\n");
  named.text = "s";
  named.label = "t";
  const auto dataset = make({named}, document_settings({}));
  EXPECT_EQ(dataset->labels(), (WordList{"0", "1"}));
  EXPECT_EQ(dataset->example(0, 0).targets, (Ids{1, 0}));
  EXPECT_NE(dataset->fingerprint(), make({named}, document_settings({.length = 3}))->fingerprint());
  DataItem table;
  table.path = WEFT_SOURCE_DIR "/tests/reference/parquet/tagged.parquet";
  table.files = {table.path};
  table.text = "tokens";
  EXPECT_EQ(make({table}, document_settings({}))->words(0, 0), (WordList{"Ada", "met", "Bo"}));
}

TEST_F(TaggedDatasetTest, TextsForATokenizerAreTheSentencesOfDocuments) {
  WordList texts;
  visit_tagged_texts(
      {item("x.jsonl", kTaggedDocuments)}, [&](std::string_view text) { texts.emplace_back(text); },
      TaggedUnit::kSentence);
  texts.erase(std::remove(texts.begin(), texts.end(), ""), texts.end());
  EXPECT_EQ(texts, (WordList{"a b", "c", "d##x a b", "d"}));
}

TEST_F(TaggedDatasetTest, TextsForATokenizerAreSentences) {
  WordList texts;
  visit_tagged_texts({item("x.conll", "a X\nb Y\n\nc X\n")},
                     [&](std::string_view text) { texts.emplace_back(text); });
  EXPECT_EQ(texts, (WordList{"a b", "c"}));
}

}  // namespace
}  // namespace weft::data
