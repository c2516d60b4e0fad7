#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/to_device.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"
#include "nn/attention/sparse_core.h"

namespace weft::nn {

namespace {

/// The keys of tokens that are not global: a window and the global tokens.
class LongformerPattern : public SparsePattern {
 public:
  explicit LongformerPattern(const LongformerOptions& options) : options_(options) {}

  void add_keys(const AttentionSpan& /*span*/,
                int64_t /*head*/,
                int64_t position,
                std::vector<KeyRange>& keys) const override {
    if (position < options_.global_tokens) {  // its attention is another one
      keys.push_back({position, position + 1});
      return;
    }
    const auto radius = options_.window / 2;
    keys.push_back({0, options_.global_tokens});
    keys.push_back({position - radius, position + radius + 1});
  }

 private:
  LongformerOptions options_;
};

/// A window for most tokens; the first ones are global: they attend to all tokens, with projections
/// of their own, and all tokens to them (arXiv:2004.05150, section 3.1).
class LongformerAttention : public Attention {
 public:
  LongformerAttention(const AttentionOptions& options, const LongformerOptions& own)
      : options_(options), own_(own), angles_(options) {
    qkv_ = register_module("qkv", qkv_projection(options));
    global_qkv_ = register_module("global_qkv", qkv_projection(options));
    output_ = register_module("output", output_projection(options));
    core_ = register_module("core", std::make_shared<SparseCore>(
                                        options, std::vector<std::shared_ptr<SparsePattern>>{
                                                     std::make_shared<LongformerPattern>(own)}));
    global_core_ =
        register_module("global_core", std::make_shared<DenseCore>(options, dense_parts(options)));
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto rotary = angles_.table(context.layout, x.device());
    const auto key = context.rng_key(site_id(options_.layer, BlockDropoutSite::kAttentionWeights));
    const CoreInput local{.qkv = qkv_->forward(x, context),
                          .rotary = rotary,
                          .queries = context.layout,
                          .keys = context.layout,
                          .rng_key = key};
    auto mixed = core_->forward(local, context);
    const auto rows = global_rows(context.layout);
    if (!rows.indices.empty()) {
      mixed = mixed.index_copy(0, kernels::to_device(rows.indices, x.device()),
                               attend_globally(x, context, rotary, rows));
    }
    return output_->forward(mixed, context);
  }

  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) override {
    const auto rotary = angles_.table(context.layout, x.device());
    const auto of = [&](AttentionCore& core, LinearImpl& projection) {
      return core.weights({.qkv = projection.forward(x, context),
                           .rotary = rotary,
                           .queries = context.layout,
                           .keys = context.layout},
                          context);
    };
    auto result = of(*core_, *qkv_);
    const auto global = of(*global_core_, *global_qkv_);
    for (std::size_t b = 0; b < result.size(); ++b) {
      const auto count = std::min(own_.global_tokens, result[b].size(1));
      result[b] = at::cat({global[b].slice(1, 0, count), result[b].slice(1, count)}, 1);
    }
    return result;
  }

  bool adds_positions() const override {
    return !options_.distance_scores && core_->adds_positions();
  }

 private:
  struct GlobalRows {
    std::vector<int64_t> indices;
    std::vector<int64_t> offsets{0};
  };

  GlobalRows global_rows(const kernels::Layout& layout) const {
    GlobalRows rows;
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      const auto first = layout.offsets[static_cast<std::size_t>(b)];
      for (int64_t i = 0; i < std::min(own_.global_tokens, layout.length(b)); ++i) {
        rows.indices.push_back(first + i);
      }
      rows.offsets.push_back(std::ssize(rows.indices));
    }
    return rows;
  }

  /// The mixed values of the global tokens. Their dropout has the site of cross attention, which no
  /// encoder has.
  at::Tensor attend_globally(const at::Tensor& x,
                             const ForwardContext& context,
                             const at::Tensor& rotary,
                             const GlobalRows& rows) {
    const auto all = separated({.qkv = global_qkv_->forward(x, context),
                                .rotary = rotary,
                                .queries = context.layout,
                                .keys = context.layout},
                               options_);
    const auto key =
        context.rng_key(site_id(options_.layer, BlockDropoutSite::kCrossAttentionWeights));
    const auto indices = kernels::to_device(rows.indices, x.device());
    return global_core_->forward(
        {.rows = {.query = all.query.index_select(0, indices), .key = all.key, .value = all.value},
         .queries = kernels::Layout::from_offsets(rows.offsets, x.device()),
         .keys = context.layout,
         .rng_key = key},
        context);
  }

  AttentionOptions options_;
  LongformerOptions own_;
  RotaryAngles angles_;
  Linear qkv_{nullptr};
  Linear global_qkv_{nullptr};
  Linear output_{nullptr};
  std::shared_ptr<SparseCore> core_;
  std::shared_ptr<DenseCore> global_core_;
};

}  // namespace

std::shared_ptr<Attention> make_longformer_attention(const AttentionOptions& options,
                                                     const LongformerOptions& longformer) {
  return std::make_shared<LongformerAttention>(options, longformer);
}

AttentionMaker read_longformer_attention(config::Section& section) {
  LongformerOptions own;
  section.read("window", own.window,
               {.help = "Tokens around each token that it attends to, half of them on each side.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  section.read("global_tokens", own.global_tokens,
               {.help = "Tokens at the start of a text that see and are seen by all, with "
                        "projections of their own; 1: the classification token.",
                .unit = "tokens",
                .range = config::between(0, 1 << 20)});
  return [own, section](const AttentionOptions& options) {
    refuse_causal(section, options.is_causal, "longformer",
                  "its global tokens see all; hybrid of window and global is causal");
    return make_longformer_attention(options, own);
  };
}

}  // namespace weft::nn
