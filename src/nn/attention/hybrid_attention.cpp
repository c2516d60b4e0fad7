#include <string>
#include <utility>

#include "nn/attention/attention_types.h"

namespace weft::nn {

namespace {

constexpr config::KeySpec kPatterns{
    .help = "The combined patterns, each with its `type` and the keys of that type."};

PatternMaker read_pattern(config::Section section) {
  const auto& registry = sparse_patterns();
  std::string name = "window";
  section.read_name("type", name, registry.names(),
                    {.help = "Which tokens a token attends to.", .suggests_nearest = true});
  if (section.is_documenting()) {
    document_components(section, "type", registry);
    return {};
  }
  auto make = registry.at(name).read(section);
  section.reject_unread();
  return make;
}

}  // namespace

AttentionMaker read_hybrid_attention(config::Section& section) {
  bool by_head = false;
  section.read_choice("combine", by_head, {{"union", false}, {"heads", true}},
                      {.help = "union: each head attends to the tokens of all patterns. heads: the "
                               "patterns are given to the heads in turn."});
  std::vector<PatternMaker> makers;
  for (auto& item : section.sections("patterns", kPatterns)) {
    makers.push_back(read_pattern(item));
  }
  if (makers.empty()) {
    section.fail("patterns", "at least one pattern is needed");
  }
  return [makers, by_head](const AttentionOptions& options) {
    std::vector<std::shared_ptr<SparsePattern>> patterns;
    patterns.reserve(makers.size());
    for (const auto& make : makers) {
      patterns.push_back(make(pattern_options(options)));
    }
    if (by_head) {
      patterns = {std::make_shared<PatternByHead>(std::move(patterns))};
    }
    return make_sparse_attention(options, std::move(patterns));
  };
}

}  // namespace weft::nn
