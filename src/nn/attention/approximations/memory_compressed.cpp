#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/embedding.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/self_attention.h"
#include "nn/initial_values.h"

namespace weft::nn {

namespace {

/// Keys and values of `factor` tokens each, by a convolution with that kernel size and stride in
/// each head (arXiv:1801.10198, section 4.2.3). The last one of a text may have fewer tokens.
/// Causal queries see those that are complete, and a key and a value of zero, so that the first
/// ones see something.
class MemoryCompressedCore : public AttentionCore, public InitialValues {
 public:
  MemoryCompressedCore(const AttentionOptions& options, int64_t factor)
      : options_(options), factor_(factor) {
    const auto width = head_dim(options);
    const auto heads = key_heads(options);
    key_ = register_parameter("key", at::empty({heads, factor * width, width}));
    value_ = register_parameter("value", at::empty({heads, factor * width, width}));
    key_bias_ = register_parameter("key_bias", at::empty({heads * width}));
    value_bias_ = register_parameter("value_bias", at::empty({heads * width}));
  }

  at::Tensor forward(const CoreInput& input, const ForwardContext& context) override {
    const auto rows = separated(input, options_);
    const auto device = rows.query.device();
    const auto missing = rows.key.size(0);  // the place of a row of zeros
    std::vector<int64_t> sources;           // of each compressed key, `factor` rows
    std::vector<int64_t> offsets{0};
    auto groups = std::make_shared<kernels::AttentionGroups>();
    for (int64_t b = 0; b < input.queries.sequences(); ++b) {
      const auto length = input.keys.length(b);
      const auto first = rows.key_begins[static_cast<std::size_t>(b)];
      const bool has_queries = input.queries.length(b) > 0;
      const auto chunks = options_.is_causal ? length / factor_ : (length + factor_ - 1) / factor_;
      if (has_queries && options_.is_causal) {
        sources.insert(sources.end(), static_cast<std::size_t>(factor_), missing);
      }
      for (int64_t i = 0; has_queries && i < chunks * factor_; ++i) {
        sources.push_back(i < length ? first + i : missing);
      }
      offsets.push_back(std::ssize(sources) / factor_);
      groups->sequences.push_back(b);
      groups->numbers.push_back(0);
      groups->mask_begins.push_back(options_.is_causal && has_queries ? std::ssize(groups->mask)
                                                                      : -1);
      if (options_.is_causal) {
        add_mask(length - input.queries.length(b), input.queries.length(b), chunks + 1,
                 groups->mask);
      }
    }
    const auto keys = kernels::Layout::from_offsets(offsets, device);
    const auto index = kernels::to_device(sources, device);
    const auto is_null = options_.is_causal ? null_rows(keys, device) : at::Tensor();
    return kernels::attention({.query = rows.query,
                               .key = compressed(rows.key, index, key_, key_bias_, is_null),
                               .value = compressed(rows.value, index, value_, value_bias_, is_null),
                               .groups = groups},
                              input.queries, keys,
                              attention_settings(options_, context, /*by_head=*/false),
                              input.rng_key);
  }

  /// The mean of the tokens: a factor of 1 is full attention.
  void initialize(const std::string& /*name*/, at::Tensor parameter) const override {
    if (parameter.dim() == 3) {
      const auto width = parameter.size(2);
      parameter.copy_((at::eye(width) / static_cast<double>(factor_)).repeat({factor_, 1}));
    }
  }

 private:
  /// The queries at positions from `offset` on see the zero key and the chunks that end before them
  /// or with them.
  void add_mask(int64_t offset, int64_t queries, int64_t keys, std::vector<uint16_t>& mask) const {
    const auto words = kernels::AttentionGroups::mask_words(keys);
    for (int64_t i = 0; i < queries; ++i) {
      const auto seen = 1 + (offset + i + 1) / factor_;
      mask.resize(mask.size() + static_cast<std::size_t>(words), 0);
      kernels::AttentionGroups::show_keys(mask.data() + std::ssize(mask) - words, 0,
                                          std::min(seen, keys));
    }
  }

  /// (M, 1): 1 for the zero key of each sequence.
  static at::Tensor null_rows(const kernels::Layout& keys, const at::Device& device) {
    std::vector<float> is_null(static_cast<std::size_t>(keys.tokens()));
    for (int64_t b = 0; b < keys.sequences(); ++b) {
      if (keys.length(b) > 0) {
        is_null[static_cast<std::size_t>(keys.offsets[static_cast<std::size_t>(b)])] = 1;
      }
    }
    return kernels::to_device(is_null, device).unsqueeze(1);
  }

  /// (M, G K)
  at::Tensor compressed(const at::Tensor& rows,
                        const at::Tensor& index,
                        const at::Tensor& weight,
                        const at::Tensor& bias,
                        const at::Tensor& is_null) const {
    const auto padded = at::cat({rows, at::zeros({1, rows.size(1)}, rows.options())});
    const auto heads = weight.size(0);
    const auto chunks = kernels::gather_rows(padded, index)
                            .view({-1, factor_, heads, weight.size(2)})
                            .permute({2, 0, 1, 3})
                            .flatten(2);                             // (G, M, factor K)
    const auto products = kernels::batched_product(chunks, weight);  // (G, M, K)
    const auto result = products.transpose(0, 1).flatten(1) + bias;
    return is_null.defined() ? result * (1 - is_null).to(result.scalar_type()) : result;
  }

  AttentionOptions options_;
  int64_t factor_;
  at::Tensor key_;         // (G, factor K, K)
  at::Tensor value_;       // (G, factor K, K)
  at::Tensor key_bias_;    // (G K)
  at::Tensor value_bias_;  // (G K)
};

}  // namespace

AttentionMaker read_memory_compressed_attention(config::Section& section) {
  int64_t factor = 3;
  section.read("compression", factor,
               {.help = "Tokens that share a key and a value.",
                .unit = "tokens",
                .range = config::between(1, 1024)});
  return [factor](const AttentionOptions& options) {
    return attention_with_core(options, std::make_shared<MemoryCompressedCore>(options, factor));
  };
}

}  // namespace weft::nn
