#include <memory>

#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

AttentionMaker read_compressive_attention(config::Section& section) {
  SegmentMemory memory{.size = 512, .compressed_size = 512};
  MemoryCompressionOptions compression;
  const auto& compressions = memory_compressions();
  auto name = compressions.names().front();
  section.read("memory", memory.size,
               {.help = "Last tokens of earlier sequences of the stream that a sequence sees as "
                        "well; needs data.streams.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  section.read(
      "compressed_memory", memory.compressed_size,
      {.help = "Vectors of the tokens before these.", .range = config::between(1, 1 << 20)});
  section.read("compression_rate", compression.rate,
               {.help = "Tokens that make one vector.",
                .unit = "tokens",
                .range = config::between(1, 1024)});
  section.read_name("compression", name, compressions.names(),
                    {.help = "How they do: a convolution, their mean or their maximum."});
  section.read("compression_loss_weight", memory.loss_weight,
               {.help = "Weight of the loss that trains the convolution: the attention to the "
                        "vectors should be that to the tokens (arXiv:1911.05507, section 3.2).",
                .range = config::between(0, 1000)});
  const auto* const chosen = &compressions.at(name);
  return [=](const AttentionOptions& options) {
    require_causal(section, "compressive", options);
    auto own = memory;
    own.compression = chosen->make({.dim = options.dim, .rate = compression.rate});
    return std::make_shared<SelfAttention>(
        options,
        SelfAttentionParts{.core = std::make_shared<DenseCore>(options, dense_parts(options)),
                           .memory = own});
  };
}

}  // namespace weft::nn
