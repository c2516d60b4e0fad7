// The libFuzzer targets on their seeds and on deterministic mutations: part of every
// build, independent of the compiler. `scripts/torture --fuzz MINUTES` searches longer.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "fuzz/mutate.h"
#include "fuzz/replay.h"
#include "fuzz/targets.h"

namespace weft::fuzz {
namespace {

struct Target {
  std::string name;
  void (*run)(std::string_view) = nullptr;
};

void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }

class HostileInput : public ::testing::TestWithParam<Target> {};

TEST_P(HostileInput, IsReadOrRefusedInBoundedMemory) {
  replay(GetParam().name, GetParam().run);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  constexpr int64_t kMaxKilobytes = 1 << 20;
  EXPECT_LT(used.ru_maxrss, kMaxKilobytes);
}

INSTANTIATE_TEST_SUITE_P(Files,
                         HostileInput,
                         ::testing::Values(Target{"csv", csv},
                                           Target{"events", events},
                                           Target{"fasttext", fasttext},
                                           Target{"gzip", gzip},
                                           Target{"image", image},
                                           Target{"json", json},
                                           Target{"jsonl", jsonl},
                                           Target{"lines", lines},
                                           Target{"parquet", parquet},
                                           Target{"pattern", pattern},
                                           Target{"safetensors", safetensors},
                                           Target{"sentencepiece", sentencepiece},
                                           Target{"tagged", tagged},
                                           Target{"texts", texts},
                                           Target{"token_store", token_store},
                                           Target{"tokenizer_json", tokenizer_json},
                                           Target{"tsv", tsv},
                                           Target{"vocab_json", vocab_json},
                                           Target{"vocab_txt", vocab_txt},
                                           Target{"word_vectors", word_vectors},
                                           Target{"yaml", yaml}),
                         [](const auto& test) { return test.param.name; });

TEST(Damage, IsTheSameInEveryRun) {
  const std::vector<std::string> seeds = {"{\"a\": 1}", "two"};
  std::set<std::string> all;
  for (uint64_t number = 0; number < 100; ++number) {
    EXPECT_EQ(damaged(seeds, number), damaged(seeds, number));
    all.insert(damaged(seeds, number));
  }
  EXPECT_GT(all.size(), 60U);
}

}  // namespace
}  // namespace weft::fuzz
