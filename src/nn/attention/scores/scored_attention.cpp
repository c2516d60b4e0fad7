#include <string>

#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/scores/score_functions.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

AttentionMaker read_scored_attention(config::Section& section) {
  const auto& registry = score_functions();
  std::string name = "additive";
  section.read_name("score", name, registry.names(),
                    {.help = "Score function of queries and keys.", .suggests_nearest = true});
  if (section.is_documenting()) {
    document_components(section, "score", registry);
    return {};
  }
  return [make = registry.at(name).read(section)](const AttentionOptions& options) {
    auto parts = dense_parts(options);
    parts.score = make({.query_width = head_dim(options), .key_width = head_dim(options)});
    return attention_with_core(options, std::make_shared<DenseCore>(options, parts));
  };
}

}  // namespace weft::nn
