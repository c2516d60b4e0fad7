// A corpus may be larger than memory: the memory for building and reading its token store does not
// grow with it, and the store's bytes do not depend on the number of threads. In separate
// processes, whose memory is checked when they end.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/string_util.h"
#include "data/store/token_store.h"
#include "support/folder.h"

namespace weft::data {
namespace {

/// Documents of sentences of other lengths and words.
void write_corpus(const std::string& path, int64_t bytes) {
  std::ofstream file(path, std::ios::binary);
  const std::vector<std::string> words = {"hello ",   "world ", "good ",
                                          "morning ", "a ",     "unaffable "};
  uint32_t state = 7;
  const auto draw = [&state](std::size_t end) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % end;
  };
  for (std::string line; bytes > 0; bytes -= static_cast<int64_t>(line.size())) {
    line.clear();
    for (auto left = draw(40); left > 0; --left) {
      line += words[draw(words.size())];
    }
    line += "\n";
    file << line;
  }
}

/// Peak of the resident memory, in KiB, of a process that builds the store of the file on so many
/// threads and walks through it.
int64_t peak_of_building(const std::string& file, const std::string& cache, const char* threads) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("OMP_NUM_THREADS", threads, 1);
    try {
      DataItem item;
      item.path = file;
      item.files = {file};
      DataOptions options;
      options.cache = cache;
      const auto tokenizer =
          load_tokenizer(WEFT_SOURCE_DIR "/tests/reference/tokenizers/bert_uncased");
      std::vector<std::string> remarks;
      const auto store = open_token_store(item, options, *tokenizer, {}, remarks);
      _exit(store->tokens() > 0 && remarks.empty() ? 0 : 3);
    } catch (const std::exception&) {
      _exit(4);
    }
  }
  int status = 0;
  rusage used{};
  wait4(child, &status, 0, &used);
  EXPECT_EQ(status, 0);
  return used.ru_maxrss;
}

std::string only_file_in(const std::string& directory) {
  std::string content;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    content += test::Folder::read(entry.path().string());
  }
  return content;
}

TEST(LargeCorpus, TakesNoMoreMemoryThanASmallOne) {
  const test::Folder folder;
  write_corpus(folder.path("small.txt"), 8 << 20);
  write_corpus(folder.path("large.txt"), 48 << 20);
  const auto small = peak_of_building(folder.path("small.txt"), folder.path("cache"), "2");
  const auto large = peak_of_building(folder.path("large.txt"), folder.path("cache"), "2");
  EXPECT_LT(large - small, 16 << 10) << "KiB for " << small << " of the small one";
}

TEST(LargeCorpus, HasTheSameStoreWhateverTheNumberOfThreads) {
  const test::Folder folder;
  write_corpus(folder.path("text.txt"), 4 << 20);
  peak_of_building(folder.path("text.txt"), folder.path("one"), "1");
  peak_of_building(folder.path("text.txt"), folder.path("two"), "2");
  peak_of_building(folder.path("text.txt"), folder.path("five"), "5");
  const auto one = only_file_in(folder.path("one"));
  EXPECT_GT(one.size(), std::size_t{1} << 20);
  EXPECT_TRUE(one == only_file_in(folder.path("two")));
  EXPECT_TRUE(one == only_file_in(folder.path("five")));
}

}  // namespace
}  // namespace weft::data
