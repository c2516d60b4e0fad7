#include <memory>

#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

AttentionMaker read_transformer_xl_attention(config::Section& section) {
  int64_t memory = 512;
  section.read("memory", memory,
               {.help = "Tokens of earlier sequences of the stream that a sequence sees as well; "
                        "needs data.streams.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  return [memory, section](const AttentionOptions& options) {
    require_causal(section, "transformer_xl", options);
    return std::make_shared<SelfAttention>(
        options,
        SelfAttentionParts{.core = std::make_shared<DenseCore>(options, dense_parts(options)),
                           .memory = {.size = memory}});
  };
}

}  // namespace weft::nn
