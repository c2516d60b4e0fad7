#include "kernels/linear/linear.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

namespace {

/// Multiplies the rows of each sequence by the first columns of a learned matrix.
class LengthProjection : public SequenceReducer {
 public:
  explicit LengthProjection(const LinformerOptions& options) {
    weight_ = register_parameter("weight", at::empty({options.landmarks, options.length}));
  }

  Result reduce(const at::Tensor& rows, const kernels::Layout& layout) override {
    TORCH_CHECK(layout.max_length <= weight_.size(1), "found a sequence of ", layout.max_length,
                " tokens, model.attention.length allows ", weight_.size(1));
    std::vector<at::Tensor> reduced{rows.slice(0, 0, 0)};
    std::vector<int64_t> offsets{0};
    for (std::size_t b = 0; b + 1 < layout.offsets.size(); ++b) {
      const auto own = rows.slice(0, layout.offsets[b], layout.offsets[b + 1]);  // (L, G K)
      if (own.size(0) > 0) {
        const auto columns = weight_.slice(1, 0, own.size(0));  // (R, L)
        reduced.push_back(
            kernels::batched_product(columns.unsqueeze(0), own.unsqueeze(0)).squeeze(0));
      }
      offsets.push_back(offsets.back() + (own.size(0) > 0 ? weight_.size(0) : 0));
    }
    return {.rows = at::cat(reduced),
            .layout = kernels::Layout::from_offsets(std::move(offsets), rows.device())};
  }

 private:
  at::Tensor weight_;  // (R, longest)
};

}  // namespace

std::shared_ptr<Attention> make_linformer_attention(const AttentionOptions& options,
                                                    const LinformerOptions& linformer) {
  const auto keys = std::make_shared<LengthProjection>(linformer);
  return std::make_shared<SelfAttention>(
      options,
      SelfAttentionParts{.core = std::make_shared<DenseCore>(options, dense_parts(options)),
                         .key_reducer = keys,
                         .value_reducer = linformer.shares_projections
                                              ? keys
                                              : std::make_shared<LengthProjection>(linformer)});
}

AttentionMaker read_linformer_attention(config::Section& section) {
  LinformerOptions linformer;
  section.read("landmarks", linformer.landmarks,
               {.help = "Keys and values of a sequence after the projection of its tokens.",
                .range = config::between(1, 1 << 20)});
  section.read("length", linformer.length,
               {.help = "Length of the longest sequence.",
                .unit = "tokens",
                .range = config::between(1, 1 << 20)});
  section.read("share_projections", linformer.shares_projections,
               {.help = "One projection for keys and values."});
  return [linformer, section](const AttentionOptions& options) {
    refuse_causal(section, options.is_causal, "linformer",
                  "its keys contain later tokens; full and window are causal");
    return make_linformer_attention(options, linformer);
  };
}

}  // namespace weft::nn
