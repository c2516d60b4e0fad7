#include <algorithm>
#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "kernels/attention/rotary.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/kv_cache.h"
#include "nn/attention/self_attention.h"
#include "nn/carried_state.h"

namespace weft::nn {

namespace {

/// Sequences behind the tokens that their streams had before.
struct Continued {
  at::Tensor rows;              // (M, D)
  kernels::Layout layout;       // of these rows
  std::vector<int64_t> places;  // of the sequences' own tokens among them, (N)
};

/// Full causal attention that also sees the last `memory` tokens of earlier sequences of the
/// stream, whose states get no gradient (segment-level recurrence; arXiv:1901.02860, section 3.2).
class TransformerXlAttention : public Attention {
 public:
  TransformerXlAttention(const AttentionOptions& options, int64_t memory)
      : options_(options), memory_(memory), angles_(options) {
    qkv_ = register_module("qkv", qkv_projection(options));
    output_ = register_module("output", output_projection(options));
    core_ = register_module("core", std::make_shared<DenseCore>(options, dense_parts(options)));
  }

  /// Biases by distance do not reach back into the memory.
  bool adds_positions() const override {
    return !options_.has_distance_bias && !options_.distance_scores && core_->adds_positions();
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto rng_key =
        context.rng_key(site_id(options_.layer, BlockDropoutSite::kAttentionWeights));
    if (context.decoding_state != nullptr) {
      return output_->forward(attend_with_cache(x, context), context);
    }
    if (context.carried_state == nullptr || context.streams.empty()) {
      return output_->forward(
          core_->forward({.qkv = qkv_->forward(x, context),
                          .rotary = angles_.table(context.layout.position_limit, x.device()),
                          .queries = context.layout,
                          .keys = context.layout,
                          .rng_key = rng_key},
                         context),
          context);
    }
    const auto continued = with_memory(x, context);
    const auto rows = rotated(qkv_->forward(continued.rows, context), continued.layout);
    const auto places = at::tensor(continued.places, at::kLong).to(x.device());
    return output_->forward(core_->forward({.rows = {.query = rows.query.index_select(0, places),
                                                     .key = rows.key,
                                                     .value = rows.value},
                                            .queries = context.layout,
                                            .keys = continued.layout,
                                            .rng_key = rng_key},
                                           context),
                            context);
  }

  std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context) override {
    return core_->weights({.qkv = qkv_->forward(x, context),
                           .rotary = angles_.table(context.layout.position_limit, x.device()),
                           .queries = context.layout,
                           .keys = context.layout},
                          context);
  }

 private:
  kernels::AttentionInput rotated(const at::Tensor& qkv, const kernels::Layout& layout) {
    return separate_rows(qkv, angles_.table(layout.position_limit, qkv.device()), layout.positions,
                         options_);
  }

  at::Tensor attend_with_cache(const at::Tensor& x, const ForwardContext& context) {
    const auto own = rotated(qkv_->forward(x, context), context.layout);
    const auto rows =
        kv_cache_of(context).extend(context.depth(options_.layer), own.key, own.value);
    return core_->forward({.rows = {.query = own.query,
                                    .key = rows.key,
                                    .value = rows.value,
                                    .key_begins = rows.starts},
                           .queries = context.layout,
                           .keys = rows.layout},
                          context);
  }

  /// Each sequence behind its memory; keeps the memory of the next step.
  Continued with_memory(const at::Tensor& x, const ForwardContext& context) const {
    const auto name = str_cat("memory/", context.depth(options_.layer));
    const auto& layout = context.layout;
    std::vector<at::Tensor> pieces;
    std::vector<int64_t> offsets{0};
    Continued result;
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      const auto stream = context.streams[static_cast<std::size_t>(b)];
      const auto length = layout.length(b);
      const auto own = x.narrow(0, layout.offsets[static_cast<std::size_t>(b)], length);
      const auto before = context.carried_state->get(stream, name);
      const auto all = before.defined() ? at::cat({before.to(x.scalar_type()), own}) : own;
      const auto first = offsets.back() + all.size(0) - length;
      for (int64_t i = 0; i < length; ++i) {
        result.places.push_back(first + i);
      }
      pieces.push_back(all);
      offsets.push_back(offsets.back() + all.size(0));
      const auto kept = std::min(memory_, all.size(0));
      context.carried_state->set(stream, name, all.narrow(0, all.size(0) - kept, kept).clone());
    }
    result.rows = at::cat(pieces);
    result.layout = kernels::Layout::from_offsets(std::move(offsets), x.device());
    return result;
  }

  AttentionOptions options_;
  int64_t memory_;
  RotaryAngles angles_;
  Linear qkv_{nullptr};
  Linear output_{nullptr};
  std::shared_ptr<DenseCore> core_;
};

}  // namespace

AttentionMaker read_transformer_xl_attention(config::Section& section) {
  int64_t memory = 512;
  section.read("memory", memory,
               {.help = "Tokens of earlier sequences of the stream that a sequence sees as well; "
                        "needs data.streams.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  return [memory, section](const AttentionOptions& options) {
    if (!options.is_causal) {
      section.fail("type",
                   "found 'transformer_xl' in a model that is not causal; its memory is for "
                   "language models");
    }
    return std::make_shared<TransformerXlAttention>(options, memory);
  };
}

}  // namespace weft::nn
