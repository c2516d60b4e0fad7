#include "nn/attention/self_attention.h"

#include <algorithm>
#include <utility>

#include "kernels/linear/linear.h"
#include "kernels/softmax.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/kv_cache.h"
#include "nn/attention/memory/segment_memory.h"
#include "nn/auxiliary_losses.h"
#include "nn/dropout_sites.h"
#include "nn/row_selection.h"

namespace weft::nn {

RotaryAngles::RotaryAngles(const AttentionOptions& options) : options_(options.rotary) {
  options_.width = options_.width > 0 ? options_.width : head_dim(options);
}

at::Tensor RotaryAngles::table(const kernels::Layout& layout, const at::Device& device) {
  if (options_.theta == 0) {
    return {};
  }
  return table_.at_least(
      std::max(layout.max_length, layout.position_limit), device,
      [&](int64_t rows) { return kernels::rotary_table(rows, options_, device); });
}

namespace {

int64_t query_size(const AttentionOptions& options) { return options.heads * head_dim(options); }

/// Attention without positions or a mask: query (l, H K), key and value (n, G K) -> (H, l, K).
at::Tensor content_attention(const at::Tensor& query,
                             const at::Tensor& key,
                             const at::Tensor& value,
                             const AttentionOptions& options) {
  const auto heads = [&](const at::Tensor& of) {
    const auto split = of.to(kernels::accumulate_type(of)).unflatten(1, {-1, head_dim(options)});
    return split.transpose(0, 1).repeat_interleave(options.heads / split.size(1), 0);  // (H, n, K)
  };
  const auto scores =
      kernels::batched_product(heads(query), heads(key).transpose(1, 2)) * score_scale(options);
  return kernels::batched_product(kernels::softmax(scores), heads(value));
}

}  // namespace

Linear qkv_projection(const AttentionOptions& options) {
  const auto queries = options.heads * head_dim(options);
  const auto keys = key_heads(options) * head_dim(options);
  LinearOptions made{options.dim, queries + 2 * keys, options.has_bias};
  if (!options.has_key_bias) {
    made.unbiased = {.first = queries, .count = keys};
  }
  return Linear(made);
}

Linear output_projection(const AttentionOptions& options) {
  return Linear(LinearOptions{options.heads * head_dim(options),
                              options.output_dim > 0 ? options.output_dim : options.dim,
                              options.has_output_bias.value_or(options.has_bias)});
}

SelfAttention::SelfAttention(const AttentionOptions& options, const SelfAttentionParts& parts)
    : options_(options), parts_(parts), angles_(options) {
  qkv_ = register_module("qkv", qkv_projection(options));
  output_ = register_module("output", output_projection(options));
  register_module("core", parts.core);
  if (options.distance_scores) {
    distances_ = register_module("distances", DistanceProjection(options));
  }
  TORCH_CHECK(parts.memory.size == 0 || options.is_causal, "a memory is for causal attention");
  if (parts.memory.compression != nullptr) {
    register_module("compression", parts.memory.compression);
  }
  if (parts.key_reducer != nullptr) {
    TORCH_CHECK(!options.is_causal, "reduced keys contain later tokens: not for causal attention");
    TORCH_CHECK(parts.value_reducer != nullptr, "keys are reduced, but not values");
    register_module("key_reducer", parts.key_reducer);
    if (parts.value_reducer != parts.key_reducer) {
      register_module("value_reducer", parts.value_reducer);
    }
  }
}

at::Tensor SelfAttention::rotary_table(const ForwardContext& context, const at::Device& device) {
  return angles_.table(context.layout, device);
}

kernels::RngKey SelfAttention::rng_key(const ForwardContext& context) const {
  return context.rng_key(site_id(options_.layer, BlockDropoutSite::kAttentionWeights));
}

kernels::DistanceVectors SelfAttention::distance_vectors(const ForwardContext& context) {
  return distances_ ? distances_->forward(qkv_, context) : kernels::DistanceVectors();
}

void SelfAttention::gate_keys(const ComputationGateMaker& make) {
  if (parts_.memory.size > 0) {
    throw config::Error(
        "model.residual.gate: is not possible with attention that has a memory of earlier text");
  }
  key_gate_ = register_module("key_gate", make(options_.dim));
}

at::Tensor SelfAttention::keys_and_values(const at::Tensor& x, const ForwardContext& context) {
  const auto first = query_size(options_);
  const auto count = 2 * key_heads(options_) * head_dim(options_);
  const auto product = [&](const at::Tensor& rows) {
    return qkv_->forward_slice(rows, first, count);
  };
  if (!key_gate_) {
    return product(x);
  }
  const auto bias = qkv_->bias();
  return gated_product(key_gate_->forward(x, context), x,
                       bias.defined() ? bias.narrow(0, first, count) : bias, product);
}

at::Tensor SelfAttention::project(const at::Tensor& x,
                                  const ForwardContext& context,
                                  const RowSelection* queries) {
  if (!key_gate_) {
    return qkv_->forward(x, context);
  }
  const auto size = query_size(options_);
  if (qkv_->has_fused_path()) {
    auto query = qkv_->forward_slice(queries == nullptr ? x : queries->select(x), 0, size);
    if (queries != nullptr) {
      query = scatter_distinct_rows(query, queries->index, x.size(0));
    }
    return at::cat({query, keys_and_values(x, context)}, 1);
  }
  const auto gates = key_gate_->forward(x, context);
  const auto all = qkv_->forward(x, context);
  if (gates.are_all_open()) {
    return all;
  }
  const auto rest = all.size(1) - size;
  const auto bias = qkv_->bias();
  return at::cat(
      {all.narrow(1, 0, size), gated_rows(gates, all.narrow(1, size, rest),
                                          bias.defined() ? bias.narrow(0, size, rest) : bias)},
      1);
}

at::Tensor SelfAttention::attend_with_cache(const at::Tensor& qkv,
                                            const ForwardContext& context,
                                            const RowSelection* queries) {
  TORCH_CHECK(!context.is_training, "attention with a KV cache is for inference only");
  TORCH_CHECK(options_.is_causal, "only causal attention can continue from a KV cache");
  // Keys are cached already rotated.
  const auto own =
      separate_rows(qkv, rotary_table(context, qkv.device()), context.layout.positions, options_);
  const auto rows = kv_cache_of(context).extend(context.depth(options_.layer), own.key, own.value);
  if (queries != nullptr && queries->index.size(0) == 0) {
    return at::zeros({0, own.query.size(1)}, qkv.options());
  }
  return parts_.core->forward(
      {.rows = {.query = queries == nullptr ? own.query : queries->select(own.query),
                .key = rows.key,
                .value = rows.value,
                .key_begins = rows.starts},
       .queries = queries == nullptr ? context.layout : queries->layout,
       .keys = rows.layout,
       .distance_vectors = distance_vectors(context)},
      context);
}

at::Tensor SelfAttention::attend_with_memory(const at::Tensor& x, const ForwardContext& context) {
  const auto continued = after_memory(x, parts_.memory, options_.layer, context);
  const auto& layout = continued.layout;
  add_compression_loss(x, continued.compressed, context);
  const auto rows = separate_rows(qkv_->forward(continued.rows, context),
                                  angles_.table(layout, x.device()), layout.positions, options_);
  const auto places = kernels::to_device(continued.places, x.device());
  return parts_.core->forward(
      {.rows = {.query = rows.query.index_select(0, places), .key = rows.key, .value = rows.value},
       .queries = context.layout,
       .keys = layout,
       .rng_key = rng_key(context)},
      context);
}

void SelfAttention::add_compression_loss(const at::Tensor& x,
                                         const std::vector<CompressedRows>& compressed,
                                         const ForwardContext& context) {
  if (context.auxiliary_losses == nullptr || compressed.empty()) {
    return;
  }
  // The loss trains the compression alone.
  const auto weight = qkv_->weight(context).detach();
  const auto bias = qkv_->bias().defined() ? qkv_->bias().detach() : at::Tensor();
  const auto queries = query_size(options_);
  const auto attention_to = [&](const at::Tensor& rows, const at::Tensor& query) {
    const auto key_value =
        kernels::linear_slice(rows, weight, bias, queries, weight.size(0) - queries).chunk(2, 1);
    return content_attention(query, key_value[0], key_value[1], options_);
  };
  at::Tensor sum;
  for (const auto& part : compressed) {
    const auto begin = context.layout.offsets[static_cast<std::size_t>(part.sequence)];
    const auto own = x.detach().narrow(0, begin, context.layout.length(part.sequence));
    const auto query = kernels::linear_slice(own, weight, bias, 0, queries);
    const auto difference = attention_to(part.compressed, query) - attention_to(part.rows, query);
    const auto squares = kernels::deterministic_sum(difference.square());
    sum = sum.defined() ? sum + squares : squares;
  }
  context.auxiliary_losses->add({.name = "compression",
                                 .sum = sum / static_cast<double>(queries),
                                 .weight = parts_.memory.loss_weight});
}

at::Tensor SelfAttention::attend_reduced(const at::Tensor& qkv, const ForwardContext& context) {
  const auto own =
      separate_rows(qkv, rotary_table(context, qkv.device()), context.layout.positions, options_);
  const auto key = parts_.key_reducer->reduce(own.key, context.layout);
  const auto value = parts_.value_reducer->reduce(own.value, context.layout);
  TORCH_CHECK(key.layout.offsets == value.layout.offsets,
              "the reduced keys and values have different lengths");
  return parts_.core->forward({.rows = {.query = own.query, .key = key.rows, .value = value.rows},
                               .queries = context.layout,
                               .keys = key.layout,
                               .rng_key = rng_key(context)},
                              context);
}

at::Tensor SelfAttention::attend(const at::Tensor& x, const ForwardContext& context) {
  if (parts_.memory.size > 0 && context.carried_state != nullptr && !context.streams.empty()) {
    return attend_with_memory(x, context);
  }
  const auto qkv = project(x, context);
  if (context.decoding_state != nullptr && !parts_.core->keeps_decoding_state()) {
    return attend_with_cache(qkv, context);
  }
  if (parts_.key_reducer != nullptr) {
    return attend_reduced(qkv, context);
  }
  return parts_.core->forward({.qkv = qkv,
                               .rotary = rotary_table(context, x.device()),
                               .queries = context.layout,
                               .keys = context.layout,
                               .rng_key = rng_key(context),
                               .distance_vectors = distance_vectors(context)},
                              context);
}

at::Tensor SelfAttention::forward(const at::Tensor& x, const ForwardContext& context) {
  return output_->forward(attend(x, context), context);  // (N, D)
}

bool SelfAttention::is_position_independent() const {
  return options_.rotary.theta == 0 && !distances_ && parts_.key_reducer == nullptr &&
         parts_.memory.size == 0 && parts_.core->is_position_independent();
}

at::Tensor SelfAttention::attend_selected(const at::Tensor& x,
                                          const ForwardContext& context,
                                          const RowSelection& selection) {
  const bool uses_cache = context.decoding_state != nullptr && !parts_.core->keeps_decoding_state();
  if (uses_cache && key_gate_ && context.layout.max_length == 1) {
    return attend_with_cache(project(x, context, &selection), context, &selection);
  }
  if (uses_cache || !is_position_independent() || !qkv_->has_fused_path()) {
    return selection.select(attend(x, context));
  }
  const auto query = qkv_->forward_slice(selection.select(x), 0, query_size(options_));  // (M, H K)
  const auto rest = keys_and_values(x, context);  // (N, 2 G K)
  return parts_.core->forward({.rows = {.query = query, .key = rest},
                               .queries = selection.layout,
                               .keys = context.layout,
                               .rng_key = rng_key(context)},
                              context);
}

at::Tensor SelfAttention::forward_selected(const at::Tensor& x,
                                           const ForwardContext& context,
                                           const RowSelection& selection) {
  const auto mixed = attend_selected(x, context, selection);  // (M, H K)
  return mixed.size(0) == 0 ? at::zeros({0, options_.dim}, x.options())
                            : output_->forward(mixed, selection.select(context));  // (M, D)
}

std::vector<at::Tensor> SelfAttention::weights(const at::Tensor& x, const ForwardContext& context) {
  TORCH_CHECK(parts_.key_reducer == nullptr,
              "this attention type has no attention weights to show: its keys are not tokens");
  return parts_.core->weights({.qkv = project(x, context),
                               .rotary = rotary_table(context, x.device()),
                               .queries = context.layout,
                               .keys = context.layout,
                               .distance_vectors = distance_vectors(context)},
                              context);
}

std::shared_ptr<Attention> attention_with_core(const AttentionOptions& options,
                                               std::shared_ptr<AttentionCore> core) {
  return std::make_shared<SelfAttention>(options, SelfAttentionParts{.core = std::move(core)});
}

std::shared_ptr<Attention> make_full_attention(const AttentionOptions& options) {
  return attention_with_core(options, std::make_shared<DenseCore>(options, dense_parts(options)));
}

}  // namespace weft::nn
