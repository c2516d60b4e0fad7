#include <algorithm>
#include <optional>

#include "nn/attention/attention_types.h"

namespace weft::nn {

namespace {

struct BlockLocalOptions {
  int64_t block = 64;
  std::optional<int64_t> blocks = {};
  int64_t look_back = 0;
  bool shifts_heads = false;
};

/// Blocks of consecutive tokens: a query attends to those of its own block and of `look_back`
/// blocks before it, or head h to the block h blocks later (arXiv:1911.02972, section 3.2).
class BlockLocalPattern : public SparsePattern {
 public:
  explicit BlockLocalPattern(const BlockLocalOptions& options) : options_(options) {}

  void add_keys(const AttentionSpan& span,
                int64_t head,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    const auto size =
        options_.blocks
            ? std::max<int64_t>(1, (span.keys + *options_.blocks - 1) / *options_.blocks)
            : options_.block;
    const auto own = position / size;
    if (options_.shifts_heads) {
      const auto all = (span.keys + size - 1) / size;
      const auto block = (own + head) % all;
      keys.push_back({block * size, (block + 1) * size});
      return;
    }
    keys.push_back({(own - options_.look_back) * size, (own + 1) * size});
  }
  bool differs_by_head() const override { return options_.shifts_heads; }

 private:
  BlockLocalOptions options_;
};

}  // namespace

PatternMaker read_block_local_pattern(config::Section& section) {
  BlockLocalOptions own;
  section.read("blocks", own.blocks,
               {.help = "Number of equal blocks of each text. null: blocks of `block` tokens.",
                .range = config::between(1, 1 << 20)});
  if (!own.blocks) {
    section.read("block", own.block,
                 {.help = "Tokens of a block. A token attends to its own block.",
                  .unit = "tokens",
                  .range = config::between(1, 1 << 20),
                  .only_if = "blocks: null"});
  } else if (section.has("block")) {
    section.fail("block", "found besides `blocks`; give one of the two");
  }
  section.read("look_back", own.look_back,
               {.help = "Blocks before its own that a token attends to as well.",
                .unit = "blocks",
                .range = config::between(0, 8)});
  section.read("shift_heads", own.shifts_heads,
               {.help = "Head h attends to the block h blocks further on, cyclically, instead of "
                        "its own."});
  if (own.shifts_heads && own.look_back > 0) {
    section.fail("look_back", "has no effect with `shift_heads: true`");
  }
  return [own, section](const PatternOptions& options) {
    if (own.blocks) {
      require_fixed_pattern(section, "blocks", options);
    }
    if (own.shifts_heads && options.is_causal) {
      section.fail("shift_heads", "found true in a causal model, where later blocks are hidden");
    }
    return std::make_shared<BlockLocalPattern>(own);
  };
}

}  // namespace weft::nn
