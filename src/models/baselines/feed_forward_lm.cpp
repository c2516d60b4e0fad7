#include "models/baselines/feed_forward_lm.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/dropout.h"
#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/layer_types.h"
#include "models/stack_parts.h"
#include "nn/decoding_state.h"
#include "nn/dropout_sites.h"

namespace weft::models {

namespace {

constexpr auto kContext = "context";  // name of the kept tokens

bool is_bilinear(const ModelOptions& options) {
  return options.feed_forward_lm.kind == FeedForwardLmKind::kBilinear;
}

/// The last `size` tokens before each sequence of the batch: (B, c), or undefined.
at::Tensor kept_contexts(const nn::ForwardContext& context) {
  return context.decoding_state != nullptr ? context.decoding_state->sequence_tensor(0, kContext)
                                           : at::Tensor();
}

}  // namespace

int64_t feed_forward_lm_features(const ModelOptions& options) {
  const auto& own = options.feed_forward_lm;
  return own.hidden + (own.direct ? own.context * options.dim : 0);
}

FeedForwardLm::FeedForwardLm(const ModelOptions& options) : options_(options) {
  TORCH_CHECK(options.vocabulary > 0, "a model needs a vocabulary");
  const auto& own = options.feed_forward_lm;
  options_.tie_word_embeddings = own.tie == EmbeddingTie::kAlways;
  const auto width = feed_forward_lm_features(options);
  words_ = register_words(*this, "words", options,
                          {.vocabulary = options.vocabulary, .dim = options.dim});
  if (own.hidden > 0) {
    hidden_ = register_module("hidden",
                              nn::Linear(nn::LinearOptions{own.context * options.dim, own.hidden,
                                                           /*has_bias=*/!is_bilinear(options)}));
  }
  const bool shares = shares_embedding(options.layer_types, options_.tie_word_embeddings);
  use_embedding(words_, {.vocabulary = options.vocabulary, .has_targets = shares});
  register_output_layer(
      options.layer_types,
      {.width = width, .vocabulary = options.vocabulary, .tied = shares ? words_ : nullptr});
  if (!has_output_matrix(options.layer_types)) {
    return;
  }
  if (!options_.tie_word_embeddings) {
    output_ = register_parameter("output", at::empty({options.vocabulary, width}));
  }
  bias_ = register_parameter("output_bias", at::empty({options.vocabulary}));
}

at::Tensor FeedForwardLm::output_weight() {
  return output_.defined() || !has_output_matrix(options_.layer_types) ? output_ : words_->weight();
}

at::Tensor FeedForwardLm::contexts(const TextInput& input,
                                   const nn::ForwardContext& context) const {
  const auto size = static_cast<std::size_t>(options_.feed_forward_lm.context);
  const auto ids = input.ids.cpu().contiguous();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  const auto& offsets = context.layout.offsets;
  const auto start = std::max<int64_t>(options_.bos_id, -1);
  auto kept = kept_contexts(context);
  kept = kept.defined() ? kept.cpu().contiguous() : kept;
  std::vector<int64_t> result;  // (N, c)
  std::vector<int64_t> ends;    // (B, c)
  result.reserve(static_cast<std::size_t>(ids.numel()) * size);
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    std::vector<int64_t> last(size, start);
    if (kept.defined()) {
      const auto* before = kept.const_data_ptr<int64_t>() + b * size;
      last.assign(before, before + size);
    }
    for (auto i = offsets[b]; i < offsets[b + 1]; ++i) {
      if (tokens[i] == options_.bos_id) {
        std::ranges::fill(last, start);
      }
      std::shift_left(last.begin(), last.end(), 1);
      last.back() = tokens[i];
      result.insert(result.end(), last.begin(), last.end());
    }
    ends.insert(ends.end(), last.begin(), last.end());
  }
  const auto columns = static_cast<int64_t>(size);
  const auto device = input.ids.device();
  if (context.decoding_state != nullptr) {
    context.decoding_state->sequence_tensor(0, kContext) =
        kernels::to_device(ends, device).view({-1, columns});
  }
  return kernels::to_device(result, device).view({-1, columns});
}

at::Tensor FeedForwardLm::features(const at::Tensor& contexts, const nn::ForwardContext& context) {
  const auto rows = contexts.size(0);
  const auto ids = contexts.flatten();
  auto inputs = words_->forward(ids.clamp_min(0));  // (N c, D)
  if (options_.bos_id < 0) {
    inputs = inputs * at::ge(ids, 0).unsqueeze(1);
  }
  inputs = inputs.view({rows, -1});  // (N, c D)
  if (!hidden_) {
    return inputs;
  }
  auto result = hidden_->forward(inputs);  // (N, H)
  if (!is_bilinear(options_)) {
    result = result.tanh();
  }
  result = kernels::dropout(result, context.rate(options_.dropout),
                            context.rng_key(nn::site_id(nn::DropoutSite::kHead)));
  return options_.feed_forward_lm.direct ? at::cat({result, inputs}, 1) : result;
}

at::Tensor FeedForwardLm::hidden(const TextInput& input, const nn::ForwardContext& context) {
  return features(contexts(input, context), context);
}

at::Tensor FeedForwardLm::selected_hidden_states(const TextInput& input,
                                                 const nn::ForwardContext& context,
                                                 const nn::RowSelection& rows) {
  return features(rows.select(contexts(input, context)), rows.select(context));
}

}  // namespace weft::models
