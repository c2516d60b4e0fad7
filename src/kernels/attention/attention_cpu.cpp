#include "kernels/attention/attention_cpu.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include <ATen/ATen.h>

#include "kernels/flop_counter.h"
#include "kernels/fused.h"
#include "kernels/sum.h"

namespace weft::kernels {
namespace {

// Scratch memory of one thread for one task, reused between calls.
float* scratch(int64_t floats) {
  constexpr int64_t kAlignment = 64;
  thread_local std::unique_ptr<float[]> memory;
  thread_local int64_t size = 0;
  const int64_t wanted = floats + kAlignment;
  if (size < wanted) {
    size = 0;  // the allocation may fail
    memory.reset();
    memory.reset(new float[wanted]);
    size = wanted;
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  return reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

// Padding columns of a bias: the kernels may read past its ends.
constexpr int64_t kMargin = 32;
int64_t padded_span(int64_t span) { return 2 * span - 1 + kMargin; }

// Dropout of the weights of a head, in a sequence or a group.
cpu::DropoutRng dropout_rng_of(const AttentionPlan& plan, int64_t b, int64_t head) {
  const auto i = static_cast<std::size_t>(b);
  const bool has_groups = plan.groups != nullptr;
  const int64_t sequence = has_groups ? plan.groups->sequences[i] : b;
  const int64_t number = has_groups ? plan.groups->numbers[i] : 0;
  return to_dropout_rng(plan.rule, plan.first_sequence + sequence, head + plan.heads * number);
}

// Mask of a group; null: none.
const uint16_t* mask_of(const AttentionPlan& plan, int64_t b) {
  if (plan.groups == nullptr) {
    return nullptr;
  }
  const int64_t begin = plan.groups->mask_begins[static_cast<std::size_t>(b)];
  return begin < 0 ? nullptr : plan.groups->mask.data() + begin;
}

template <class T>
cpu::DistanceScores<T> distance_scores_of(const AttentionPlan& plan,
                                          const AttentionTensors& tensors,
                                          int64_t row,
                                          int64_t key_row,
                                          int64_t head) {
  const auto& any =
      tensors.query_distances.defined() ? tensors.query_distances : tensors.key_distances;
  if (!any.defined()) {
    return {};
  }
  const int64_t stride = any.size(2);
  const auto& rows = *plan.distance_rows;
  return {.query = row_of<const T>(tensors.query_distances, head, row * stride),
          .key = row_of<const T>(tensors.key_distances, head, key_row * stride),
          .stride = stride,
          .rows = rows.data() + rows.size() / 2,
          .dquery = row_of<float>(tensors.dquery_distances, head, row * stride),
          .dkey = row_of<float>(tensors.dkey_distances, head, key_row * stride)};
}

template <class T>
cpu::AttentionTask<T> attention_task_of(const AttentionPlan& plan,
                                        const AttentionTensors& tensors,
                                        int64_t b,
                                        int64_t head) {
  const int64_t row = plan.offsets[static_cast<std::size_t>(b)];
  const int64_t queries = plan.length(b);
  const int64_t keys = plan.key_lengths[static_cast<std::size_t>(b)];
  const int64_t key_row = plan.key_begins[static_cast<std::size_t>(b)];
  const int64_t group = plan.heads / plan.key_heads;
  const int64_t column = head * plan.width;
  const int64_t key_column = head / group * plan.width;
  const int64_t own = cpu::attention_scratch(queries, keys, plan.width);
  const int64_t shared = group > 1 ? 2 * cpu::round_up_16(keys) * cpu::round_up_16(plan.width) : 0;
  float* const memory = scratch(own + shared);
  const auto centre = [&](const at::Tensor& x, int64_t line) {
    return x.defined() ? elements<float>(x) + line * padded_span(plan.span) + plan.span - 1
                       : nullptr;
  };
  return {
      .q = row_of<T>(tensors.q, row, column),
      .k = row_of<T>(tensors.k, key_row, key_column),
      .v = row_of<T>(tensors.v, key_row, key_column),
      .q_stride = tensors.q.stride(0),
      .kv_stride = tensors.k.stride(0),
      .queries = queries,
      .keys = keys,
      .width = plan.width,
      .scale = plan.scale,
      .is_causal = plan.is_causal,
      .prefix = plan.prefix_lengths.empty() ? 0 : plan.prefix_lengths[static_cast<std::size_t>(b)],
      .first = plan.is_causal ? keys - queries : 0,
      .window_radius = plan.window_radius < 0 ? std::max(queries, keys) : plan.window_radius,
      .rotary = elements<const float>(plan.rotary),
      .rotary_width = plan.rotary.defined() ? plan.rotary.size(1) : 0,
      .bias = centre(tensors.bias, head),
      .distances = distance_scores_of<T>(plan, tensors, row, key_row, head),
      .mask = mask_of(plan, b),
      .dropout_rng = dropout_rng_of(plan, b, head),
      .out = row_of<T>(tensors.out, row, column),
      .out_stride = tensors.out.stride(0),
      .lse = elements<float>(tensors.lse) + head * plan.offsets.back() + row,
      .scratch = memory,
      .gradient = row_of<T>(tensors.gradient, row, column),
      .dlse = tensors.dlse.defined()
                  ? elements<const float>(tensors.dlse) + head * plan.offsets.back() + row
                  : nullptr,
      .dq = row_of<T>(tensors.dq, row, column),
      .dq_stride = tensors.dq.defined() ? tensors.dq.stride(0) : 0,
      .dk = row_of<T>(tensors.dk, key_row, key_column),
      .dv = row_of<T>(tensors.dv, key_row, key_column),
      .dkv_stride = tensors.dk.defined() ? tensors.dk.stride(0) : 0,
      .dbias = centre(tensors.dbias, b * plan.heads + head),
      .shared = group > 1 ? memory + own : nullptr,
      .is_first = head % group == 0,
      .is_last = head % group == group - 1};
}

// Threads take tasks dynamically; each task writes its own result. A task is a range of consecutive
// query heads.
template <class T>
void for_each_task(const AttentionPlan& plan,
                   const AttentionTensors& tensors,
                   int64_t heads_of_task,
                   void (*run)(const cpu::AttentionTask<T>&)) {
  const int64_t parts = plan.heads / heads_of_task;
  const int64_t tasks = static_cast<int64_t>(plan.order.size()) * parts;
  std::atomic<int64_t> next{0};
  parallel_for(0, std::min<int64_t>(tasks, parallel_threads()), 1, [&](int64_t, int64_t) {
    for (int64_t task = next++; task < tasks; task = next++) {
      const int64_t b = plan.order[task / parts];
      if (plan.length(b) == 0 || plan.key_lengths[static_cast<std::size_t>(b)] == 0) {
        continue;
      }
      for (int64_t head = 0; head < heads_of_task; ++head) {
        run(attention_task_of<T>(plan, tensors, b, task % parts * heads_of_task + head));
      }
    }
  });
}

void count_attention(const AttentionPlan& plan, int64_t products) {
  if (auto* const counter = FlopCounter::current(); counter != nullptr) {
    counter->add(products * attention_product_flops(plan));
  }
}

}  // namespace

at::Tensor padded_bias(const std::optional<at::Tensor>& bias) {
  constexpr double kLog2E = 1.4426950408889634;
  return bias ? at::constant_pad_nd(bias->detach() * kLog2E, {0, kMargin}).contiguous()
              : at::Tensor();
}

c10::intrusive_ptr<AttentionPlan> make_attention_plan(
    int64_t width,
    const AttentionLayouts& layouts,
    const AttentionSettings& settings,
    const RngKey& rng_key,
    std::shared_ptr<const AttentionGroups> groups) {
  auto plan = c10::make_intrusive<AttentionPlan>();
  plan->offsets = layouts.queries.offsets;
  plan->has_gaps = !layouts.key_begins.empty();
  const auto& of_keys = layouts.keys.offsets;
  for (std::size_t b = 0; b + 1 < of_keys.size(); ++b) {
    plan->key_begins.push_back(layouts.key_begins.empty() ? of_keys[b] : layouts.key_begins[b]);
    plan->key_lengths.push_back(of_keys[b + 1] - of_keys[b]);
    const bool has_queries = plan->length(static_cast<int64_t>(b)) > 0;
    plan->has_gaps = plan->has_gaps || has_queries != (plan->key_lengths.back() > 0);
  }
  plan->order.resize(layouts.queries.sequences());
  std::iota(plan->order.begin(), plan->order.end(), 0);
  const auto work = [&](int64_t b) {
    return plan->length(b) * plan->key_lengths[static_cast<std::size_t>(b)];
  };
  std::stable_sort(plan->order.begin(), plan->order.end(),
                   [&](int64_t a, int64_t b) { return work(a) > work(b); });
  plan->heads = settings.heads;
  plan->key_heads = settings.key_heads_or_heads();
  plan->width = width;
  plan->first_sequence = rng_key.first_sequence;
  plan->scale = static_cast<float>(settings.scale_or_default(width));
  plan->is_causal = settings.is_causal;
  plan->prefix_lengths = settings.prefix_lengths;
  plan->window_radius = settings.window_radius;
  plan->rotary = settings.rotary;
  plan->groups = std::move(groups);
  plan->distance_rows = settings.distance_vectors.rows;
  plan->rule = attention_dropout_rule(settings.dropout, rng_key);
  return plan;
}

int64_t attention_product_flops(const AttentionPlan& plan) {
  int64_t pairs = 0;
  for (std::size_t b = 0; b < plan.key_lengths.size(); ++b) {
    const int64_t queries = plan.length(static_cast<int64_t>(b));
    const int64_t keys = plan.key_lengths[b];
    const int64_t prefix = plan.prefix_lengths.empty() ? 0 : plan.prefix_lengths[b];
    if (plan.groups != nullptr && plan.groups->mask_begins[b] >= 0) {
      const auto* const words = plan.groups->mask.data() + plan.groups->mask_begins[b];
      for (int64_t word = 0; word < queries * AttentionGroups::mask_words(keys); ++word) {
        pairs += std::popcount(words[word]);
      }
      continue;
    }
    for (int64_t query = 0; query < queries; ++query) {
      const int64_t position = query + (plan.is_causal ? keys - queries : 0);
      int64_t first = 0;
      int64_t last = plan.is_causal ? std::max(position, prefix - 1) : keys - 1;
      if (plan.window_radius >= 0) {
        first = std::max(first, position - plan.window_radius);
        last = std::min(last, position + plan.window_radius);
      }
      pairs += std::max<int64_t>(0, std::min(last, keys - 1) - first + 1);
    }
  }
  return 2 * pairs * plan.heads * plan.width;
}

void attend(const AttentionPlan& plan, AttentionTensors& tensors) {
  count_attention(plan, kForwardProducts);
  const auto& q = tensors.q;
  const int64_t columns = plan.heads * plan.width;
  tensors.out = plan.has_gaps ? at::zeros({q.size(0), columns}, q.options())
                              : at::empty({q.size(0), columns}, q.options());
  tensors.lse = at::empty({plan.heads, q.size(0)}, q.options().dtype(at::kFloat));
  dispatch_element_type(q, [&](auto element) {
    using T = decltype(element);
    for_each_task<T>(plan, tensors, 1, operations<T>().attention_forward);
  });
}

at::Tensor attend_backward(const AttentionPlan& plan, AttentionTensors& tensors) {
  count_attention(plan, kBackwardProducts);
  const auto sequences = static_cast<int64_t>(plan.order.size());
  if (tensors.bias.defined()) {
    tensors.dbias =
        at::zeros({sequences, plan.heads * padded_span(plan.span)}, tensors.lse.options());
  }
  const auto gradient_of = [&](const at::Tensor& distances) {
    return distances.defined() ? at::zeros(distances.sizes(), tensors.lse.options()) : at::Tensor();
  };
  tensors.dquery_distances = gradient_of(tensors.query_distances);
  tensors.dkey_distances = gradient_of(tensors.key_distances);
  dispatch_element_type(tensors.q, [&](auto element) {
    using T = decltype(element);
    for_each_task<T>(plan, tensors, plan.heads / plan.key_heads,
                     operations<T>().attention_backward);
  });
  return tensors.dbias.defined() ? column_sum(tensors.dbias)
                                       .view({plan.heads, padded_span(plan.span)})
                                       .narrow(1, 0, 2 * plan.span - 1)
                                 : at::Tensor();
}

}  // namespace weft::kernels
