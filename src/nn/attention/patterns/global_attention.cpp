#include "nn/attention/attention_types.h"

namespace weft::nn {

namespace {

/// The first tokens of a sequence attend to all tokens, and all tokens to them (arXiv:2004.05150,
/// section 3.1, with the same projections for both).
class GlobalPattern : public SparsePattern {
 public:
  explicit GlobalPattern(int64_t tokens) : tokens_(tokens) {}

  void add_keys(const AttentionSpan& span,
                int64_t /*head*/,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    keys.push_back({0, position < tokens_ ? span.keys : tokens_});
    keys.push_back({position, position + 1});
  }

 private:
  int64_t tokens_;
};

}  // namespace

PatternMaker read_global_pattern(config::Section& section) {
  int64_t tokens = 1;
  section.read("tokens", tokens,
               {.help = "Tokens at the start of a text that see and are seen by all; the others "
                        "see themselves.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  return [tokens](const PatternOptions& /*options*/) {
    return std::make_shared<GlobalPattern>(tokens);
  };
}

}  // namespace weft::nn
