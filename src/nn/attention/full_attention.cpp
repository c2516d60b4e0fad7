#include "nn/attention/full_attention.h"

#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

std::shared_ptr<Attention> make_full_attention(const AttentionOptions& options) {
  return std::make_shared<SelfAttention>(
      options,
      SelfAttentionParts{.core = std::make_shared<DenseCore>(options, dense_parts(options))});
}

AttentionMaker read_full_attention(config::Section& /*section*/) { return make_full_attention; }

}  // namespace weft::nn
