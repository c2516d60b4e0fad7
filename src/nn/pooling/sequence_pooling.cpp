#include "nn/pooling/sequence_pooling.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/linear.h"
#include "nn/pooling/pooling.h"

namespace weft::nn {

namespace {

template <SentencePooling pooling>
class PlainPooling : public SequencePooling {
 public:
  at::Tensor forward(const at::Tensor& hidden, const ForwardContext& context) override {
    return pool(hidden, context.layout, pooling);
  }
};

/// Mean with weights softmax(u . tanh(W h + b)) over the tokens of a sequence (Yang et al., NAACL
/// 2016, equations 5 to 7).
class AttentionPooling : public SequencePooling {
 public:
  explicit AttentionPooling(const SequencePoolingOptions& options) {
    dense_ = register_module("dense", Linear(LinearOptions{options.dim, options.dim}));
    query_ = register_module("query", Linear(LinearOptions{options.dim, 1, /*has_bias=*/false}));
  }

  at::Tensor forward(const at::Tensor& hidden, const ForwardContext& context) override {
    const auto scores = query_->forward(dense_->forward(hidden).tanh()).to(at::kFloat);  // (N, 1)
    const auto largest = segment_max(scores.detach(), context.layout)
                             .repeat_interleave(context.layout.device_lengths(), 0);
    const auto weights = (scores - largest).exp();
    return (segment_sum(weights * hidden, context.layout) / segment_sum(weights, context.layout))
        .to(hidden.scalar_type());
  }

 private:
  Linear dense_{nullptr};
  Linear query_{nullptr};
};

template <SentencePooling pooling>
SequencePoolingMaker read_plain_pooling(config::Section& /*section*/) {
  return [](const SequencePoolingOptions& /*options*/) {
    return std::make_shared<PlainPooling<pooling>>();
  };
}

SequencePoolingMaker read_attention_pooling(config::Section& /*section*/) {
  return [](const SequencePoolingOptions& options) {
    return std::make_shared<AttentionPooling>(options);
  };
}

Registry<SequencePoolingDefinition>& pooling_registry() {
  static Registry<SequencePoolingDefinition> registry(
      "pooling", {{"cls", read_plain_pooling<SentencePooling::kClsToken>},
                  {"last", read_plain_pooling<SentencePooling::kLastToken>},
                  {"mean", read_plain_pooling<SentencePooling::kMean>},
                  {"max", read_plain_pooling<SentencePooling::kMax>},
                  {"attention", read_attention_pooling},
                  {"multihead_attention", read_multihead_attention_pooling}});
  return registry;
}

}  // namespace

const Registry<SequencePoolingDefinition>& sequence_poolings() { return pooling_registry(); }

void register_sequence_pooling(const SequencePoolingDefinition& definition) {
  pooling_registry().add(definition);
}

}  // namespace weft::nn
