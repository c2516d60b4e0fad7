#include "data/store/store_parts.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/store/token_store.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

namespace fs = std::filesystem;

class CountingTokenizer : public test::ToyTokenizer {
 public:
  using ToyTokenizer::ToyTokenizer;
  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    ++texts;
    ToyTokenizer::encode(text, ids);
  }
  mutable std::atomic<int64_t> texts = 0;
};

constexpr int64_t kLines = 60'000;  // 3 MB: six blocks

class StorePartsTest : public ::testing::Test {
 protected:
  StorePartsTest() {
    std::string text;
    for (int64_t line = 0; line < kLines; ++line) {
      text +=
          line % 1000 == 999 ? "\n" : "some words of a line, number " + std::to_string(line) + "\n";
      text += line == 70 ? "not UTF-8: \xff\n" : "";
    }
    folder_.write("text.txt", text);
    item_.path = folder_.path("text.txt");
    item_.files = {item_.path};
    options_.cache = folder_.path("cache");
    whole_ = bytes();
    fs::remove_all(*options_.cache);
  }

  /// The bytes of the store, and how many texts were tokenised to open it.
  std::string bytes() {
    tokenizer_.texts = 0;
    remarks_.clear();
    const auto store = open_token_store(item_, options_, tokenizer_, {}, remarks_);
    tokenized_ = tokenizer_.texts;
    return test::Folder::read(store->path());
  }
  void write_part(int64_t index, int64_t count) {
    write_store_part(item_, options_, tokenizer_, {.index = index, .count = count});
  }
  std::vector<fs::path> files() const {
    return {fs::directory_iterator(*options_.cache), fs::directory_iterator()};
  }

  test::Folder folder_;
  DataItem item_;
  DataOptions options_;
  CountingTokenizer tokenizer_{{"some", "words"}, 50'000};
  std::vector<std::string> remarks_;
  int64_t tokenized_ = 0;
  std::string whole_;
};

TEST_F(StorePartsTest, MakeTheSameStore) {
  for (const int64_t count : {1, 2, 3, 20}) {
    SCOPED_TRACE(count);
    int64_t texts = 0;
    for (int64_t index = 0; index < count; ++index) {
      tokenizer_.texts = 0;
      write_part(index, count);
      EXPECT_TRUE(count == 1 || tokenizer_.texts < kLines);
      texts += tokenizer_.texts;
    }
    EXPECT_TRUE(bytes() == whole_);
    EXPECT_EQ(tokenized_, 0);
    EXPECT_GT(texts, kLines * 9 / 10);
    EXPECT_LE(texts, kLines);  // each once
    EXPECT_EQ(remarks_.size(), 1U);
    EXPECT_EQ(files().size(), 1U);
    fs::remove_all(*options_.cache);
  }
}

TEST_F(StorePartsTest, AreNotUsedIfOneIsMissingOrDamaged) {
  write_part(0, 2);
  EXPECT_TRUE(bytes() == whole_);
  EXPECT_GT(tokenized_, 0);
  fs::remove_all(*options_.cache);

  for (const std::string damage : {"cut", "changed", "empty"}) {
    SCOPED_TRACE(damage);
    write_part(0, 2);
    write_part(1, 2);
    const auto name = files().front().string();
    auto part = test::Folder::read(name);
    if (damage == "changed") {
      part[part.size() / 2] ^= 1;
    } else {
      part.resize(damage == "cut" ? part.size() / 2 : 0);
    }
    test::Folder::write_to(name, part);
    EXPECT_TRUE(bytes() == whole_);
    EXPECT_GT(tokenized_, 0);
    fs::remove_all(*options_.cache);
  }
}

TEST_F(StorePartsTest, AreNotWrittenIfTheStoreIsThere) {
  bytes();
  write_part(0, 2);
  EXPECT_EQ(files().size(), 1U);
}

}  // namespace
}  // namespace weft::data
