#include <gtest/gtest.h>

#include "cli/data/data.h"
#include "support/toy_tokenizer.h"

namespace weft::cli {
namespace {

const test::ToyTokenizer& toy() {
  static const test::ToyTokenizer tokenizer({"the", "dog", "bark", "##ed", "cat"});
  return tokenizer;
}

/// `[CLS] the dog bark ##ed [SEP]`, where the loss looks at `dog`, `bark` and `##ed`.
data::Example example() {
  data::Example made;
  made.ids = {2, 5, 4, 9, 8, 3};
  made.target_positions = {2, 3, 4};
  made.targets = {6, 7, 8};
  return made;
}

TEST(ShowExample, BracketsTokensInTheLoss) {
  EXPECT_EQ(show_example(example(), toy(), false), "[CLS] the {dog>[MASK]} {bark>cat}{ed} [SEP]");
}

TEST(ShowExample, ColoursEachRole) {
  EXPECT_EQ(show_example(example(), toy(), true),
            "\x1b[2m[CLS]\x1b[0m the \x1b[9;31mdog\x1b[0m\x1b[33m[MASK]\x1b[0m "
            "\x1b[9;31mbark\x1b[0m\x1b[35mcat\x1b[0m\x1b[4;32med\x1b[0m \x1b[2m[SEP]\x1b[0m");
}

TEST(ShowTagged, PutsEachTagAfterItsPiece) {
  data::Example tagged = example();
  tagged.ids = {2, 5, 6, 7, 8, 3};
  tagged.targets = {1, 0, 0};
  EXPECT_EQ(show_tagged(tagged, toy(), {"O", "B-X"}), "[CLS] the dog[B-X] bark[O] ##ed[O] [SEP]");
}

TEST(ShowExample, ShowsPlainTextWithoutTargets) {
  data::Example plain = example();
  plain.ids = {2, 5, 6, 7, 8, 3};
  plain.targets.clear();
  plain.target_positions.clear();
  EXPECT_EQ(show_example(plain, toy(), false), "[CLS] the dog barked [SEP]");
}

TEST(ShowTokenMetadata, NamesSpansOfOneLanguage) {
  data::Example made = example();
  EXPECT_EQ(show_token_metadata(made, {}), "");
  made.token_type_ids = {1, 1, 1, 0, 0, 0};
  EXPECT_EQ(show_token_metadata(made, {"de", "en"}),
            "en at positions 0 to 2, de at positions 3 to 5");
  made.positions = {0, 1, 2, 0, 1, 2};
  EXPECT_EQ(show_token_metadata(made, {"de", "en"}),
            "en at positions 0 to 2, de at positions 0 to 2");
  EXPECT_EQ(show_token_metadata(made, {}), "positions 0 to 2, positions 0 to 2");
}

TEST(ShowGeneration, ShowsPrefixAndRestOfADecoder) {
  data::Example made;
  made.ids = {2, 5, 6, 7};
  made.prefix_length = 2;
  made.targets = {6, 7, 8};
  made.target_positions = {1, 2, 3};
  EXPECT_TRUE(predicts_next_token(made));
  EXPECT_EQ(show_generation(made, toy(), false), "prefix: [CLS] the\nrest: dog barked");
}

TEST(ShowGeneration, ShowsSourceAndTargetOfModelsThatWrite) {
  data::Example made;
  made.source_ids = {5, 4, 8, 3};
  made.ids = {0, 6, 7};
  made.targets = {6, 7, 3};
  made.target_positions = {0, 1, 2};
  EXPECT_TRUE(predicts_next_token(made));
  EXPECT_EQ(show_generation(made, toy(), false),
            "source: the [MASK]ed [SEP]\ntarget: dog bark [SEP]");
  made.source_ids.clear();
  EXPECT_EQ(show_generation(made, toy(), false), "[PAD] dog bark [SEP]");
  EXPECT_FALSE(predicts_next_token(example()));
}

TEST(ShowPredictedSentences, PutsWhatIsPredictedBelowEachSentence) {
  data::Example made;
  made.ids = {2, 5, 6, 3, 2, 4, 4, 3};
  made.sentence_lengths = {4, 4};
  made.target_positions = {7, 7, 7};
  made.targets = {7, 8, 3};
  EXPECT_TRUE(predicts_sentences(made));
  EXPECT_EQ(show_predicted_sentences(made, toy(), false),
            "[CLS] the dog [SEP]\n[CLS] [MASK] [MASK] [SEP]\n  {barked [SEP]}");
  EXPECT_FALSE(predicts_sentences(example()));
}

TEST(CountMasks, DistinguishesTheThreeReplacements) {
  MaskCounts counts;
  count_masks(example(), toy(), counts);
  count_masks(example(), toy(), counts);
  EXPECT_EQ(counts.tokens, 12);
  EXPECT_EQ(counts.masked, 2);
  EXPECT_EQ(counts.replaced, 2);
  EXPECT_EQ(counts.kept, 2);
}

}  // namespace
}  // namespace weft::cli
