#include "kernels/attention/attention.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/attention/attention_cpu.h"
#include "kernels/attention/distance_products.h"
#include "kernels/attention/flash_attention.h"
#include "kernels/flop_counter.h"
#include "kernels/fused.h"
#include "kernels/linear/linear.h"
#include "kernels/operation_profiler.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Plan = AttentionPlan;
using Tensors = AttentionTensors;

Tensors parts_of(const at::Tensor& qkv, const Plan& plan) {
  const int64_t own = plan.heads * plan.width;
  const int64_t shared = plan.key_heads * plan.width;
  Tensors tensors;
  tensors.q = qkv.narrow(1, 0, own);
  tensors.k = qkv.narrow(1, own, shared);
  tensors.v = qkv.narrow(1, own + shared, shared);
  return tensors;
}

/// The gradient of products with DistanceVectors, in the type of the queries; `gradient` is not
/// scaled yet, or undefined.
at::Tensor scaled_gradient(const at::Tensor& gradient, const Plan& plan, const at::Tensor& query) {
  return gradient.defined() ? gradient.mul_(plan.scale).to(query.scalar_type()) : gradient;
}

class Attention : public torch::autograd::Function<Attention> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& given,
                            const std::optional<at::Tensor>& bias,
                            const std::optional<at::Tensor>& query_distances,
                            const std::optional<at::Tensor>& key_distances,
                            const c10::intrusive_ptr<Plan>& plan) {
    const auto qkv = given.contiguous();
    auto tensors = parts_of(qkv, *plan);
    tensors.bias = padded_bias(bias);
    tensors.query_distances = query_distances.value_or(at::Tensor());
    tensors.key_distances = key_distances.value_or(at::Tensor());
    attend(*plan, tensors);
    context->save_for_backward({qkv, tensors.out, tensors.lse, tensors.bias,
                                tensors.query_distances, tensors.key_distances});
    context->saved_data["plan"] = c10::IValue::make_capsule(plan);
    return tensors.out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["plan"].toCapsule();
    const auto& plan = static_cast<const Plan&>(*capsule);
    auto tensors = parts_of(saved[0], plan);
    const auto dqkv = at::empty_like(saved[0]);
    const auto dqkv_parts = parts_of(dqkv, plan);
    tensors.out = saved[1];
    tensors.lse = saved[2];
    tensors.bias = saved[3];
    tensors.query_distances = saved[4];
    tensors.key_distances = saved[5];
    tensors.gradient = gradients[0].contiguous();
    tensors.dq = dqkv_parts.q;
    tensors.dk = dqkv_parts.k;
    tensors.dv = dqkv_parts.v;
    const auto dbias = attend_backward(plan, tensors);
    return {dqkv,
            dbias,
            scaled_gradient(tensors.dquery_distances, plan, tensors.q),
            scaled_gradient(tensors.dkey_distances, plan, tensors.q),
            {}};
  }
};

/// Splits keys and values, which are stored side by side in `key` if `value` is missing.
std::pair<at::Tensor, at::Tensor> split_key_value(const at::Tensor& key,
                                                  const std::optional<at::Tensor>& value) {
  if (value) {
    return {key, *value};
  }
  const int64_t shared = key.size(1) / 2;
  return {key.narrow(1, 0, shared), key.narrow(1, shared, shared)};
}

/// Attention with a separate query tensor. Returns the output and, if wanted,
/// PartialAttention::lse.
class SplitAttention : public torch::autograd::Function<SplitAttention> {
 public:
  static variable_list forward(AutogradContext* context,
                               const at::Tensor& query,
                               const at::Tensor& key,
                               const std::optional<at::Tensor>& value,
                               const std::optional<at::Tensor>& bias,
                               const std::optional<at::Tensor>& query_distances,
                               const std::optional<at::Tensor>& key_distances,
                               const c10::intrusive_ptr<Plan>& plan) {
    Tensors tensors;
    tensors.q = query;
    std::tie(tensors.k, tensors.v) = split_key_value(key, value);
    tensors.bias = padded_bias(bias);
    tensors.query_distances = query_distances.value_or(at::Tensor());
    tensors.key_distances = key_distances.value_or(at::Tensor());
    attend(*plan, tensors);
    context->save_for_backward({query, key, value.value_or(at::Tensor()), tensors.out, tensors.lse,
                                tensors.bias, tensors.query_distances, tensors.key_distances});
    context->saved_data["plan"] = c10::IValue::make_capsule(plan);
    constexpr double kLn2 = 0.6931471805599453;
    return plan->wants_lse ? variable_list{tensors.out, tensors.lse.t() * kLn2}
                           : variable_list{tensors.out};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["plan"].toCapsule();
    const auto& plan = static_cast<const Plan&>(*capsule);
    const auto like = [&](const at::Tensor& x) {
      return plan.has_gaps ? at::zeros(x.sizes(), x.options()) : at::empty(x.sizes(), x.options());
    };
    const auto& key = saved[1];
    const auto value = optional(saved[2]);
    const auto dkey = like(key);
    const auto dvalue = value ? optional(like(*value)) : std::nullopt;
    Tensors tensors;
    tensors.q = saved[0];
    std::tie(tensors.k, tensors.v) = split_key_value(key, value);
    tensors.out = saved[3];
    tensors.lse = saved[4];
    tensors.bias = saved[5];
    tensors.query_distances = saved[6];
    tensors.key_distances = saved[7];
    tensors.gradient =
        gradients[0].defined() ? gradients[0].contiguous() : at::zeros_like(saved[3]);
    if (plan.wants_lse && gradients[1].defined()) {
      tensors.dlse = gradients[1].t().contiguous();
    }
    tensors.dq = like(tensors.q);
    std::tie(tensors.dk, tensors.dv) = split_key_value(dkey, dvalue);
    const auto dbias = attend_backward(plan, tensors);
    return {tensors.dq,
            dkey,
            dvalue.value_or(at::Tensor()),
            dbias,
            scaled_gradient(tensors.dquery_distances, plan, tensors.q),
            scaled_gradient(tensors.dkey_distances, plan, tensors.q),
            {}};
  }
};

void check_rotary(const at::Tensor& table, int64_t max_length, int64_t width) {
  const bool is_table = table.dim() == 2 && table.is_contiguous() &&
                        table.scalar_type() == at::kFloat && table.size(0) >= max_length &&
                        table.size(1) <= width && table.size(1) % 2 == 0;
  TORCH_CHECK(is_table, "attention expects a rotary table (", max_length, " or more, ", width,
              " or less) of fp32 with an even width, got ", table.sizes());
}

int64_t key_heads_of(const AttentionSettings& settings) {
  const int64_t key_heads = settings.key_heads_or_heads();
  TORCH_CHECK(settings.heads > 0 && settings.heads % key_heads == 0, "attention expects ",
              key_heads, " key heads to divide ", settings.heads, " query heads");
  return key_heads;
}

// Resizes the bias to one column per distance below `span` on both sides.
at::Tensor with_span(const at::Tensor& bias, int64_t span, int64_t heads) {
  if (!bias.defined()) {
    return {};
  }
  TORCH_CHECK(bias.dim() == 2 && bias.size(0) == heads && bias.size(1) % 2 == 1 &&
                  bias.scalar_type() == at::kFloat,
              "attention expects a bias (", heads, ", 2 S - 1) of fp32, got ", bias.sizes());
  const int64_t given = (bias.size(1) + 1) / 2;
  if (given == span) {
    return bias;
  }
  const auto columns =
      at::arange(1 - span, span, at::TensorOptions(bias.device()).dtype(at::kLong));
  return bias.index_select(1, (columns + given - 1).clamp(0, bias.size(1) - 1));
}

at::Tensor with_contiguous_rows(const at::Tensor& x) {
  return x.stride(1) == 1 || x.size(1) == 1 ? x : x.contiguous();
}

void check_prefix_lengths(const AttentionSettings& settings, int64_t sequences) {
  const auto& prefix_lengths = settings.prefix_lengths;
  TORCH_CHECK(prefix_lengths.empty() ||
                  (settings.is_causal && static_cast<int64_t>(prefix_lengths.size()) == sequences &&
                   std::all_of(prefix_lengths.begin(), prefix_lengths.end(),
                               [](auto count) { return count >= 0; })),
              "causal attention expects no prefix lengths, or one non-negative length for each of ",
              sequences, " sequences, got ", prefix_lengths.size(),
              settings.is_causal ? "" : " if it is not causal");
}

void check_groups(const AttentionInput& input,
                  const Layout& queries,
                  const AttentionSettings& settings) {
  if (input.groups == nullptr) {
    return;
  }
  const auto count = static_cast<std::size_t>(queries.sequences());
  const auto& groups = *input.groups;
  TORCH_CHECK(groups.sequences.size() == count && groups.numbers.size() == count &&
                  groups.mask_begins.size() == count,
              "attention expects the sequence, number and mask of ", count, " groups");
  TORCH_CHECK(!settings.is_causal && settings.window_radius < 0 && !settings.rotary.defined() &&
                  !settings.distance_bias.defined(),
              "attention in groups has no causal mask, window, rotary table or bias");
}

void check_inputs(const AttentionInput& input,
                  const Layout& queries,
                  const Layout& keys,
                  const AttentionSettings& settings) {
  const int64_t key_heads = key_heads_of(settings);
  const auto& [query, key, value, begins, groups] = input;
  const int64_t key_parts = value.defined() ? 1 : 2;  // tensors packed in `key`
  const bool fits = query.dim() == 2 && key.dim() == 2 &&
                    (!value.defined() || value.sizes() == key.sizes()) &&
                    query.size(1) % settings.heads == 0 &&
                    query.size(1) / settings.heads * key_heads * key_parts == key.size(1);
  TORCH_CHECK(fits, "attention expects query (N, ", settings.heads, " K) and key and value (M, ",
              key_heads, " K), got ", query.sizes(), " and ", key.sizes(),
              value.defined() ? c10::str(" and ", value.sizes()) : "");
  TORCH_CHECK(query.size(0) == queries.tokens() && queries.sequences() == keys.sequences() &&
                  (!begins.empty() || key.size(0) == keys.tokens()),
              "attention expects layouts with the same number of sequences and rows, got ",
              queries.sequences(), " of ", queries.tokens(), " and ", keys.sequences(), " of ",
              keys.tokens());
  TORCH_CHECK(begins.empty() || static_cast<int64_t>(begins.size()) == keys.sequences(),
              "attention expects the offsets of ", keys.sequences(), " sequences, got ",
              begins.size());
  check_prefix_lengths(settings, queries.sequences());
  check_groups(input, queries, settings);
  for (int64_t b = 0; settings.is_causal && b < queries.sequences(); ++b) {
    TORCH_CHECK(queries.length(b) <= keys.length(b),
                "causal attention expects one key per query, sequence ", b, " has fewer");
  }
}

// For inputs without a vector kernel.
PartialAttention attention_fallback(const AttentionInput& given,
                                    const Layout& queries,
                                    const Layout& keys,
                                    const AttentionSettings& settings,
                                    const RngKey& rng_key,
                                    bool wants_lse = false) {
  auto input = given;
  std::tie(input.key, input.value) = split_key_value(given.key, optional(given.value));
  const auto device = input.query.device();
  const bool uses_flash = !wants_lse && device.is_cuda() &&
                          gpu::supports_flash_attention(input, settings) &&
                          gpu::has_flash_attention(device);
  PartialAttention result;
  if (uses_flash) {
    result.out = gpu::flash_attention(input, queries, keys, settings, rng_key);
  } else if (wants_lse) {
    result = reference::partial_attention(input, queries, keys, settings, rng_key);
  } else {
    result.out = reference::attention(input, queries, keys, settings, rng_key);
  }
  if (FlopCounter::current() != nullptr) {
    const int64_t flops = attention_product_flops(
        *make_attention_plan(input.query.size(1) / settings.heads, {queries, keys, {}}, settings,
                             rng_key, input.groups));
    count_with_backward(result.out, kForwardProducts * flops, kBackwardProducts * flops);
  }
  return result;
}

PartialAttention separate_attention(const AttentionInput& input,
                                    const Layout& queries,
                                    const Layout& keys,
                                    const AttentionSettings& settings,
                                    const RngKey& rng_key,
                                    bool wants_lse) {
  const ScopedOperationTimer timer(Operation::kAttention);
  check_inputs(input, queries, keys, settings);
  const int64_t width = input.query.size(1) / settings.heads;
  const int64_t max_length = std::max(queries.max_length, keys.max_length);
  if (!settings.distance_vectors.is_empty()) {
    check_distance_vectors(settings, max_length, width);
  }
  if (settings.rotary.defined()) {
    check_rotary(settings.rotary, max_length, width);
  }
  if (!has_vector_kernel(input.query)) {
    return attention_fallback(input, queries, keys, settings, rng_key, wants_lse);
  }
  const auto plan = make_attention_plan(width, {queries, keys, input.key_begins}, settings, rng_key,
                                        input.groups);
  plan->span = std::max<int64_t>(1, max_length);
  plan->wants_lse = wants_lse;
  auto key = with_contiguous_rows(input.key);
  auto value = optional(input.value);
  if (value) {
    value = with_contiguous_rows(*value);
    if (value->stride(0) != key.stride(0)) {
      key = key.contiguous();
      value = value->contiguous();
    }
  }
  const auto query = with_query_bias(input.query, settings);
  const auto distances = distance_products(query, split_key_value(key, value).first, settings);
  const auto results =
      SplitAttention::apply(with_contiguous_rows(query), key, value,
                            optional(with_span(settings.distance_bias, plan->span, plan->heads)),
                            distances.of_queries, distances.of_keys, plan);
  return {.out = results[0], .lse = wants_lse ? results[1] : at::Tensor()};
}

}  // namespace

void AttentionGroups::show_keys(uint16_t* row, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end;) {
    const auto bit = j % 16;
    const auto count = std::min<int64_t>(16 - bit, end - j);
    row[j / 16] |= static_cast<uint16_t>(((1U << count) - 1U) << bit);
    j += count;
  }
}

at::Tensor attention(const at::Tensor& qkv,
                     const Layout& layout,
                     const AttentionSettings& settings,
                     const RngKey& rng_key) {
  const ScopedOperationTimer timer(Operation::kAttention);
  const int64_t heads = settings.heads + 2 * key_heads_of(settings);
  TORCH_CHECK(qkv.dim() == 2 && qkv.size(1) % heads == 0, "attention expects qkv (N, ", heads,
              " heads * K), got ", qkv.sizes());
  TORCH_CHECK(qkv.size(0) == layout.tokens(),
              "attention expects as many rows as the layout has tokens (", layout.tokens(),
              "), got ", qkv.size(0));
  check_prefix_lengths(settings, layout.sequences());
  const int64_t width = qkv.size(1) / heads;
  if (settings.rotary.defined()) {
    check_rotary(settings.rotary, layout.max_length, width);
  }
  if (!settings.distance_vectors.is_empty()) {
    check_distance_vectors(settings, layout.max_length, width);
  }
  if (!has_vector_kernel(qkv)) {
    const int64_t own = settings.heads * width;
    const int64_t shared = key_heads_of(settings) * width;
    const auto parts = qkv.split_with_sizes({own, shared, shared}, 1);
    return attention_fallback({.query = parts[0], .key = parts[1], .value = parts[2]}, layout,
                              layout, settings, rng_key)
        .out;
  }
  const auto plan = make_attention_plan(width, {layout, layout, {}}, settings, rng_key);
  plan->span = std::max<int64_t>(1, layout.max_length);
  const auto biased = with_query_bias(qkv, settings);
  const auto parts = parts_of(biased, *plan);
  const auto distances = distance_products(parts.q, parts.k, settings);
  return Attention::apply(biased,
                          optional(with_span(settings.distance_bias, plan->span, plan->heads)),
                          distances.of_queries, distances.of_keys, plan);
}

at::Tensor attention(const AttentionInput& input,
                     const Layout& queries,
                     const Layout& keys,
                     const AttentionSettings& settings,
                     const RngKey& rng_key) {
  return separate_attention(input, queries, keys, settings, rng_key, false).out;
}

PartialAttention partial_attention(const AttentionInput& input,
                                   const Layout& queries,
                                   const Layout& keys,
                                   const AttentionSettings& settings,
                                   const RngKey& rng_key) {
  return separate_attention(input, queries, keys, settings, rng_key, true);
}

}  // namespace weft::kernels
