#include "nn/sequence_pooling.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "nn/linear.h"
#include "nn/pooling.h"
#include "nn/row_selection.h"

namespace weft::nn {

namespace {

at::Tensor lengths_of(const ForwardContext& context) {
  return context.layout.device_offsets.diff().to(at::kLong);  // (B)
}

/// The largest value of each feature in fp32: (N, D) -> (B, D).
at::Tensor segment_max(const at::Tensor& x, const ForwardContext& context) {
  return at::segment_reduce(x.to(at::kFloat).contiguous(), "max", lengths_of(context));
}

class ClsPooling : public SequencePooling {
 public:
  at::Tensor forward(const at::Tensor& hidden, const ForwardContext& context) override {
    return first_tokens(hidden, context.layout);
  }
};

class LastPooling : public SequencePooling {
 public:
  at::Tensor forward(const at::Tensor& hidden, const ForwardContext& context) override {
    return RowSelection::last_tokens(context).select(hidden);
  }
};

class MeanPooling : public SequencePooling {
 public:
  at::Tensor forward(const at::Tensor& hidden, const ForwardContext& context) override {
    return (segment_sum(hidden, context.layout) / lengths_of(context).unsqueeze(1))
        .to(hidden.scalar_type());
  }
};

class MaxPooling : public SequencePooling {
 public:
  at::Tensor forward(const at::Tensor& hidden, const ForwardContext& context) override {
    return segment_max(hidden, context).to(hidden.scalar_type());
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
    const auto lengths = lengths_of(context);
    const auto largest = segment_max(scores.detach(), context).repeat_interleave(lengths, 0);
    const auto weights = (scores - largest).exp();
    return (segment_sum(weights * hidden, context.layout) / segment_sum(weights, context.layout))
        .to(hidden.scalar_type());
  }

 private:
  Linear dense_{nullptr};
  Linear query_{nullptr};
};

template <class Pooling>
SequencePoolingMaker read_plain_pooling(config::Section& /*section*/) {
  return [](const SequencePoolingOptions& /*options*/) { return std::make_shared<Pooling>(); };
}

SequencePoolingMaker read_attention_pooling(config::Section& /*section*/) {
  return [](const SequencePoolingOptions& options) {
    return std::make_shared<AttentionPooling>(options);
  };
}

Registry<SequencePoolingDefinition>& pooling_registry() {
  static Registry<SequencePoolingDefinition> registry("pooling",
                                                      {{"cls", read_plain_pooling<ClsPooling>},
                                                       {"last", read_plain_pooling<LastPooling>},
                                                       {"mean", read_plain_pooling<MeanPooling>},
                                                       {"max", read_plain_pooling<MaxPooling>},
                                                       {"attention", read_attention_pooling}});
  return registry;
}

}  // namespace

const Registry<SequencePoolingDefinition>& sequence_poolings() { return pooling_registry(); }

void register_sequence_pooling(const SequencePoolingDefinition& definition) {
  pooling_registry().add(definition);
}

}  // namespace weft::nn
