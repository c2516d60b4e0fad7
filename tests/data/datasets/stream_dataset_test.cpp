#include <gtest/gtest.h>

#include "data/datasets/causal_dataset.h"
#include "data/error.h"
#include "data/fake_store.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

/// Sequences of two tokens.
std::shared_ptr<const Dataset> seven_sequences() {
  const std::vector<int64_t> words = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  return std::make_shared<CausalDataset>(
      std::vector<LanguageSource>{test::source({{words}})}, LanguagePacking{.pack = Pack::kStream},
      LanguageSettings{.length = 2, .has_token_type_ids = false}, test::ToyTokenizer({}, 100000));
}

TEST(StreamDataset, AStepHasTheNextSequenceOfEachStream) {
  const auto whole = seven_sequences();
  ASSERT_EQ(whole->size(0), 7);
  const auto dataset = make_stream_dataset(whole, 3);
  ASSERT_EQ(dataset->size(0), 6);
  const std::vector<int64_t> sequences = {0, 2, 4, 1, 3, 5};
  for (int64_t item = 0; item < 6; ++item) {
    const auto expected = sequences[static_cast<std::size_t>(item)];
    EXPECT_EQ(dataset->example(0, item).ids, whole->example(0, expected).ids) << item;
    EXPECT_EQ(dataset->length(0, item), whole->length(0, expected)) << item;
    EXPECT_EQ(dataset->location(0, item), whole->location(0, expected)) << item;
  }
  ASSERT_EQ(dataset->remarks().size(), 1U);
  EXPECT_NE(dataset->remarks()[0].find("3 streams: 1 sequence at the end"), std::string::npos)
      << dataset->remarks()[0];
}

TEST(StreamDataset, StreamsBeginAnewInEachEpoch) {
  const auto dataset = make_stream_dataset(seven_sequences(), 3);
  for (int64_t item = 0; item < 6; ++item) {
    EXPECT_EQ(dataset->example(0, item).stream, item % 3);
    EXPECT_EQ(dataset->example(2, item).stream, 6 + item % 3);
  }
}

TEST(StreamDataset, NeedsASequenceForEachStream) {
  EXPECT_THROW(make_stream_dataset(seven_sequences(), 8), Error);
  EXPECT_NE(make_stream_dataset(seven_sequences(), 2)->fingerprint(),
            make_stream_dataset(seven_sequences(), 3)->fingerprint());
}

}  // namespace
}  // namespace weft::data
