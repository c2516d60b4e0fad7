#include "data/store/token_store.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/stop.h"
#include "data/error.h"
#include "data/text/text_source.h"
#include "support/folder.h"
#include "support/toy_tokenizer.h"

namespace weft::data {
namespace {

/// Counts its calls; throws if a text requests it.
class WatchedTokenizer : public test::ToyTokenizer {
 public:
  using ToyTokenizer::ToyTokenizer;
  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    ++calls;
    if (text == "fail") {
      throw std::runtime_error("as asked");
    }
    ToyTokenizer::encode(text, ids);
  }
  mutable std::atomic<int> calls = 0;
};

using Documents = std::vector<std::vector<std::string>>;

class TokenStoreTest : public ::testing::Test {
 protected:
  TokenStoreTest() { options_.cache = folder_.path("cache"); }
  ~TokenStoreTest() override { request_stop(false); }

  std::shared_ptr<const TokenStore> open(const std::vector<std::string>& files,
                                         const ProgressVisitor& progress = {}) {
    DataItem item;
    item.path = "item";
    item.files = files;
    remarks_.clear();
    return open_token_store(item, options_, tokenizer_, progress, remarks_);
  }
  Documents content(const TokenStore& store) const {
    Documents documents;
    for (int64_t document = 0; document < store.documents(); ++document) {
      auto& sentences = documents.emplace_back();
      for (int64_t s = store.first_sentence(document); s < store.first_sentence(document + 1);
           ++s) {
        std::vector<int64_t> ids;
        store.read(store.first_token(s), store.first_token(s + 1), ids);
        sentences.push_back(tokenizer_.decode({ids.begin(), ids.end()}));
      }
    }
    EXPECT_EQ(store.first_sentence(store.documents()), store.sentences());
    EXPECT_EQ(store.first_token(store.sentences()), store.tokens());
    return documents;
  }
  std::vector<std::string> cached() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(*options_.cache)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  test::Folder folder_;
  DataOptions options_;
  WatchedTokenizer tokenizer_{{"a", "b", "c", "d", "e."}};
  std::vector<std::string> remarks_;
};

TEST_F(TokenStoreTest, KeepsDocumentsAndSentences) {
  const auto first = folder_.write("1.txt", "\na b\n c\n\n\nd a\n");
  const auto second = folder_.write("2.txt", "b\n \n");
  const auto store = open({first, second});
  EXPECT_EQ(content(*store), (Documents{{"a b", "c"}, {"d a"}, {"b"}}));
  EXPECT_EQ(store->tokens(), 6);
  EXPECT_TRUE(remarks_.empty());
  EXPECT_TRUE(store->path().ends_with(".tokens"));
}

TEST_F(TokenStoreTest, EmptyFilesGiveAnEmptyStore) {
  const auto store = open({folder_.write("1.txt", "\n\n")});
  EXPECT_EQ(store->documents(), 0);
  EXPECT_EQ(store->sentences(), 0);
  EXPECT_EQ(store->first_token(0), 0);
}

TEST_F(TokenStoreTest, IsReusedUntilContentOrSettingsChange) {
  const auto file = folder_.write("1.txt", "a b\nc e. A\n\nd\n");
  const auto first = open({file});
  const int calls = tokenizer_.calls;
  const auto moved = folder_.write("other name.txt", "a b\nc e. A\n\nd\n");
  EXPECT_EQ(open({moved})->path(), first->path());
  EXPECT_EQ(tokenizer_.calls, calls);
  EXPECT_NE(open({file, file})->fingerprint(), first->fingerprint());
  EXPECT_NE(open({folder_.write("2.txt", "a b\nc e. A\n\na\n")})->fingerprint(),
            first->fingerprint());
  options_.document = DocumentBoundary::kFile;
  EXPECT_EQ(content(*open({file})).size(), 1U);
  options_.sentence = SentenceBoundary::kPunctuation;
  EXPECT_EQ(content(*open({file})),
            (Documents{{"a b", "c e.", "", "d"}}));  // A is unknown, which is not shown
  EXPECT_EQ(cached().size(), 5U);
}

TEST_F(TokenStoreTest, OtherTokenizersHaveOtherStores) {
  const auto file = folder_.write("1.txt", "a b\n");
  const auto path = open({file})->path();
  const WatchedTokenizer other({"b", "a"});
  DataItem item;
  item.files = {file};
  EXPECT_NE(open_token_store(item, options_, other, {}, remarks_)->path(), path);
}

TEST_F(TokenStoreTest, LargeVocabulariesTakeFourBytes) {
  const WatchedTokenizer wide({}, 200000);
  DataItem item;
  item.files = {folder_.write("1.txt", "some words here\n")};
  const auto store = open_token_store(item, options_, wide, {}, remarks_);
  std::vector<int32_t> expected;
  wide.encode("some words here", expected);
  std::vector<int64_t> ids{-1};
  store->read(0, 3, ids);
  EXPECT_EQ(ids, (std::vector<int64_t>{-1, expected[0], expected[1], expected[2]}));
}

TEST_F(TokenStoreTest, ManySpansKeepTheirOrder) {
  std::string content;
  int64_t lines = 0;
  int64_t words = 0;
  for (uint64_t state = 1; content.size() < 6'000'000;
       state = state * 6364136223846793005U + 1442695040888963407U) {
    const auto kind = state >> 60;
    if (kind == 0) {
      content += "\n";
      continue;
    }
    for (uint64_t word = 0; word < kind; ++word, ++words) {
      content += "abcd"[(state >> (2 * word)) & 3];
      content += ' ';
    }
    content += "\n";
    ++lines;
  }
  const auto file = folder_.write("1.txt", content);
  double share = 0;
  int visits = 0;
  const auto store = open({file}, [&](const Progress& progress) {
    EXPECT_EQ(progress.activity, "tokenizing 1.txt");
    EXPECT_GE(progress.fraction, share);
    share = progress.fraction;
    ++visits;
  });
  EXPECT_GE(visits, 1);
  EXPECT_EQ(store->sentences(), lines);
  EXPECT_EQ(store->tokens(), words);
  std::vector<int64_t> ids;
  store->read(0, store->tokens(), ids);
  std::vector<int32_t> expected;
  DataItem item;
  item.files = {file};
  TextReader reader(item, options_);
  int64_t sentence = 0;
  int64_t document = -1;
  for (TextLine line; reader.next(line); ++sentence) {
    ASSERT_EQ(store->first_token(sentence), static_cast<int64_t>(expected.size()));
    document += line.begins_document ? 1 : 0;
    ASSERT_LE(store->first_sentence(document), sentence);
    ASSERT_GT(store->first_sentence(document + 1), sentence);
    tokenizer_.encode(line.text, expected);
  }
  EXPECT_EQ(ids, std::vector<int64_t>(expected.begin(), expected.end()));
}

TEST_F(TokenStoreTest, EveryDamagedByteIsDetectedAndRepaired) {
  const auto file = folder_.write("1.txt", "a b\nc\n\nd\n");
  const auto path = open({file})->path();
  const auto sound = test::Folder::read(path);
  for (std::size_t at = 0; at < sound.size(); ++at) {
    auto damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    folder_.write("cache/" + std::filesystem::path(path).filename().string(), damaged);
    const auto store = open({file});
    ASSERT_EQ(remarks_.size(), 1U) << at;
    EXPECT_NE(remarks_[0].find("rebuilding it"), std::string::npos);
    EXPECT_EQ(content(*store), (Documents{{"a b", "c"}, {"d"}}));
    EXPECT_EQ(test::Folder::read(path), sound);
  }
  for (std::size_t size = 0; size < sound.size(); size += 7) {
    folder_.write("cache/" + std::filesystem::path(path).filename().string(),
                  sound.substr(0, size));
    open({file});
    ASSERT_EQ(remarks_.size(), 1U) << size;
  }
}

TEST_F(TokenStoreTest, InvalidUtf8IsRepairedAndReportedEachTime) {
  const auto file = folder_.write("1.txt", "a\xFF b\nc\n\xC0\n");
  for (int time = 0; time < 2; ++time) {
    open({file});
    EXPECT_EQ(
        remarks_,
        (std::vector<std::string>{
            "item: 2 lines with invalid UTF-8 were repaired: U+FFFD replaces the invalid bytes"}));
  }
}

TEST_F(TokenStoreTest, FailureLeavesNoFiles) {
  std::string content;
  for (int line = 0; line < 400000; ++line) {
    content += "a b\n";
  }
  const auto file = folder_.write("1.txt", content + "fail\n" + content);
  EXPECT_THROW(open({file}), std::runtime_error);
  EXPECT_TRUE(cached().empty());
  EXPECT_THROW(open({folder_.path("missing.txt")}), UserError);
  EXPECT_THROW(open({folder_.write("1.txt.gz", "no gzip")}), UserError);
  EXPECT_TRUE(cached().empty());
}

TEST_F(TokenStoreTest, StopLeavesNoFiles) {
  const auto file = folder_.write("1.txt", "a b\n");
  std::filesystem::create_directories(*options_.cache);
  request_stop(true);
  EXPECT_THROW(open({file}), Stopped);
  EXPECT_TRUE(cached().empty());
}

TEST_F(TokenStoreTest, OldLeftoversAreRemoved) {
  std::filesystem::create_directories(*options_.cache);
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto* name :
       {"cache/00.tokens.tmp-1", "cache/00.tokens.sentences-1", "cache/00.tokens"}) {
    std::filesystem::last_write_time(folder_.write(name, ""), now - std::chrono::hours(48));
  }
  folder_.write("cache/11.tokens.tmp-1", "");
  open({folder_.write("1.txt", "a b\n")});
  auto names = cached();
  EXPECT_EQ(names.size(), 3U);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("cache/00.tokens.tmp-1")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("cache/00.tokens")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path("cache/11.tokens.tmp-1")));
}

TEST(CacheDirectory, IsFoundInOrder) {
  DataOptions options;
  setenv("HOME", "/home/someone", 1);
  unsetenv("XDG_CACHE_HOME");
  unsetenv("WEFT_CACHE");
  EXPECT_EQ(cache_directory(options), "/home/someone/.cache/weft");
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(cache_directory(options), "/caches/weft");
  setenv("WEFT_CACHE", "own", 1);
  EXPECT_EQ(cache_directory(options), "own");
  options.cache = "here";
  EXPECT_EQ(cache_directory(options), "here");
  unsetenv("WEFT_CACHE");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_THROW(cache_directory(DataOptions{}), Error);
  setenv("HOME", "/tmp", 1);
}

}  // namespace
}  // namespace weft::data
