#include <memory>
#include <numeric>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/attention/attention.h"
#include "kernels/sum.h"
#include "nn/linear.h"
#include "nn/norm/norm.h"
#include "nn/pooling/sequence_pooling.h"

namespace weft::nn {

namespace {

constexpr double kPoolingEpsilon = 1e-5;

/// MAB(s, rFF(X)): h = LN(s + Multihead(s, rFF(X), rFF(X))), then LN(h + rFF(h)).
class MultiheadAttentionPooling : public SequencePooling {
 public:
  explicit MultiheadAttentionPooling(const SequencePoolingOptions& options)
      : heads_(options.heads) {
    TORCH_CHECK(options.heads > 0 && options.dim % options.heads == 0, options.heads,
                " heads do not divide ", options.dim, " features");
    const auto linear = [&](const char* name, int64_t outputs) {
      return register_module(name, Linear(LinearOptions{options.dim, outputs}));
    };
    const auto norm = [&](const char* name) {
      return register_module(name,
                             make_layer_norm({.dim = options.dim, .epsilon = kPoolingEpsilon}));
    };
    seed_ = register_parameter("seed", at::empty({1, options.dim}));
    inner_ = linear("inner", options.dim);
    query_ = linear("query", options.dim);
    key_value_ = linear("key_value", 2 * options.dim);
    output_ = linear("output", options.dim);
    norm_ = norm("norm");
    feed_forward_ = linear("feed_forward", options.dim);
    feed_forward_norm_ = norm("feed_forward_norm");
  }

  at::Tensor forward(const at::Tensor& hidden, const ForwardContext& context) override {
    const auto& layout = context.layout;
    std::vector<int64_t> offsets(static_cast<std::size_t>(layout.sequences()) + 1);
    std::iota(offsets.begin(), offsets.end(), 0);
    const auto seed = seed_.to(hidden.scalar_type());
    const auto repeated = [&](const at::Tensor& row) {
      return kernels::repeat_row(row.flatten(), layout.sequences());
    };
    const auto mixed = kernels::attention(
        {.query = repeated(query_->forward(seed)),
         .key = key_value_->forward(inner_->forward(hidden).relu())},
        kernels::Layout::from_offsets(offsets, hidden.device()), layout, {.heads = heads_}, {});
    const auto read = norm_->forward(repeated(seed) + output_->forward(mixed));
    return feed_forward_norm_->forward(read + feed_forward_->forward(read).relu());
  }

 private:
  int64_t heads_;
  at::Tensor seed_;  // (1, D)
  Linear inner_{nullptr};
  Linear query_{nullptr};
  Linear key_value_{nullptr};
  Linear output_{nullptr};
  std::shared_ptr<Norm> norm_;
  Linear feed_forward_{nullptr};
  std::shared_ptr<Norm> feed_forward_norm_;
};

}  // namespace

SequencePoolingMaker read_multihead_attention_pooling(config::Section& /*section*/) {
  return [](const SequencePoolingOptions& options) {
    return std::make_shared<MultiheadAttentionPooling>(options);
  };
}

}  // namespace weft::nn
