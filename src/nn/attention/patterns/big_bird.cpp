#include <algorithm>
#include <cstdlib>

#include "base/random.h"
#include "base/string_util.h"
#include "nn/attention/patterns/sparse_pattern.h"

namespace weft::nn {

namespace {

class BigBirdPattern : public SparsePattern {
 public:
  BigBirdPattern(const BigBirdOptions& options, int64_t layer) : options_(options), layer_(layer) {}

  void add_keys(const AttentionSpan& span,
                int64_t head,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    const auto size = options_.block;
    const auto blocks = (span.keys + size - 1) / size;
    const auto own = position / size;
    constexpr int64_t kGlobalBlocks = 2;
    const auto few = options_.window_blocks + kGlobalBlocks + 2 * options_.random_blocks;
    if (span.keys <= few * size || own == 0 || own == blocks - 1) {
      keys.push_back({0, span.keys});
      return;
    }
    const auto radius = options_.window_blocks / 2;
    keys.push_back({0, size});
    keys.push_back({(own - radius) * size, (own + radius + 1) * size});
    keys.push_back({(blocks - 1) * size, span.keys});
    for (const auto block : random_blocks(blocks, head, own)) {
      keys.push_back({block * size, (block + 1) * size});
    }
  }
  bool differs_by_head() const override { return options_.random_blocks > 0; }

 private:
  /// Distinct blocks that are neither near nor global. All sequences with the same number of
  /// blocks have the same ones.
  std::vector<int64_t> random_blocks(int64_t blocks, int64_t head, int64_t own) const {
    Random random(
        static_cast<uint64_t>(options_.seed), RandomPurpose::kPattern,
        static_cast<uint64_t>(layer_),
        hash_combine(hash_combine(static_cast<uint64_t>(head), static_cast<uint64_t>(own)),
                     static_cast<uint64_t>(blocks)));
    std::vector<int64_t> chosen;
    while (std::ssize(chosen) < options_.random_blocks) {
      const auto block = static_cast<int64_t>(random.uniform_int(static_cast<uint64_t>(blocks)));
      const bool is_near = std::abs(block - own) <= options_.window_blocks / 2;
      if (block > 0 && block < blocks - 1 && !is_near &&
          std::ranges::find(chosen, block) == chosen.end()) {
        chosen.push_back(block);
      }
    }
    return chosen;
  }

  BigBirdOptions options_;
  int64_t layer_;
};

}  // namespace

std::shared_ptr<SparsePattern> make_big_bird_pattern(const BigBirdOptions& options, int64_t layer) {
  return std::make_shared<BigBirdPattern>(options, layer);
}

PatternMaker read_big_bird_pattern(config::Section& section) {
  BigBirdOptions own;
  section.read(
      "block", own.block,
      {.help = "Tokens of a block.", .unit = "tokens", .range = config::between(1, 1 << 20)});
  section.read(
      "random_blocks", own.random_blocks,
      {.help = "Random blocks that each block attends to, other ones in each head and layer.",
       .unit = "blocks",
       .range = config::between(0, 1024)});
  section.read("window_blocks", own.window_blocks,
               {.help = "Neighbouring blocks that each block attends to, itself included; odd.",
                .unit = "blocks",
                .range = config::between(1, 1023)});
  section.read("seed", own.seed,
               {.help = "Seed of the random blocks.", .range = config::between(0, 1e15)});
  if (own.window_blocks % 2 == 0) {
    section.fail("window_blocks",
                 str_cat("found ", own.window_blocks, ", allowed are odd numbers"));
  }
  return [own, section](const PatternOptions& options) {
    refuse_causal(
        section, options.is_causal, "big_bird",
        "all tokens see the last block; window, strided and sparse_transformer are causal");
    return make_big_bird_pattern(own, options.layer);
  };
}

}  // namespace weft::nn
