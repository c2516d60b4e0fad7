#include "nn/attention/attention.h"

#include "nn/attention/full_attention.h"
#include "nn/attention/window_attention.h"

namespace weft::nn {

std::shared_ptr<Attention> make_attention(const AttentionOptions& options) {
  switch (options.type) {
    case AttentionType::kFull:
      return std::make_shared<FullAttention>(options);
    case AttentionType::kWindow:
      return std::make_shared<WindowAttention>(options);
  }
  TORCH_CHECK(false, "unknown attention type");
}

int64_t key_heads(const AttentionOptions& options) {
  return options.key_heads > 0 ? options.key_heads : options.heads;
}

int64_t head_dim(const AttentionOptions& options) {
  if (options.head_dim > 0) {
    return options.head_dim;
  }
  TORCH_CHECK(options.heads > 0 && options.dim % options.heads == 0, options.heads,
              " heads do not divide width ", options.dim);
  return options.dim / options.heads;
}

const config::Choices<AttentionType>& attention_types() {
  static const config::Choices<AttentionType> kTypes = {{"full", AttentionType::kFull},
                                                        {"window", AttentionType::kWindow}};
  return kTypes;
}

}  // namespace weft::nn
