#include "kernels/attention/edge_attention.h"

#include <cmath>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "kernels/attention/attention_dropout.h"
#include "kernels/flop_counter.h"
#include "kernels/fused.h"
#include "kernels/operation_profiler.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct EdgePlan : torch::CustomClassHolder {
  std::shared_ptr<const AttentionEdges> edges;
  std::vector<int64_t> offsets;  // of the sequences' queries
  int64_t heads = 0;
  int64_t key_heads = 0;
  int64_t width = 0;  // K
  float scale = 0;
  DropoutRule rule;
  int64_t first_sequence = 0;

  int64_t edge_count() const { return edges->begins.back(); }
  /// Of sequence b; b may be one past the last.
  int64_t first_edge(std::size_t b) const {
    return edges->begins[static_cast<std::size_t>(offsets[b])];
  }
};

struct EdgeTensors {
  at::Tensor query = {};     // (N, H K)
  at::Tensor key = {};       // (M, G K)
  at::Tensor value = {};     // (M, G K)
  at::Tensor vectors = {};   // (kinds, K) fp32, or undefined
  at::Tensor weights = {};   // (H, E) fp32
  at::Tensor out = {};       // (N, H K)
  at::Tensor gradient = {};  // of `out`, like what follows only in the backward pass
  at::Tensor dquery = {};
  at::Tensor dkey = {};      // fp32
  at::Tensor dvalue = {};    // fp32
  at::Tensor dvectors = {};  // (sequences G, kinds K) fp32, or undefined
};

void count_edges(const EdgePlan& plan, int64_t products) {
  if (auto* const counter = FlopCounter::current(); counter != nullptr) {
    counter->add(2 * products * plan.edge_count() * plan.heads * plan.width);
  }
}

/// Work of a head in the sequence that begins with query `row`.
template <class T>
cpu::EdgeAttention<T> edge_work(const EdgePlan& plan,
                                const EdgeTensors& tensors,
                                std::size_t b,
                                int64_t head) {
  const int64_t row = plan.offsets[b];
  const int64_t column = head * plan.width;
  const int64_t key_head = head / (plan.heads / plan.key_heads);
  const int64_t key_column = key_head * plan.width;
  const int64_t first = plan.first_edge(b);
  auto* const weights = row_of<float>(tensors.weights, head, first);
  return {.q = row_of<T>(tensors.query, row, column),
          .k = row_of<T>(tensors.key, 0, key_column),
          .v = row_of<T>(tensors.value, 0, key_column),
          .q_stride = tensors.query.stride(0),
          .k_stride = tensors.key.stride(0),
          .v_stride = tensors.value.stride(0),
          .queries = plan.offsets[b + 1] - row,
          .width = plan.width,
          .scale = plan.scale,
          .begins = plan.edges->begins.data() + row,
          .keys = plan.edges->keys.data() + first,
          .kinds = plan.edges->kinds.data() + first,
          .vectors = elements<const float>(tensors.vectors),
          .weights = weights,
          .dropped = weights,
          .out = row_of<T>(tensors.out, row, column),
          .out_stride = plan.heads * plan.width,
          .gradient = row_of<T>(tensors.gradient, row, column),
          .dweights = nullptr,
          .dq = row_of<T>(tensors.dquery, row, column),
          .dq_stride = plan.heads * plan.width,
          .dk = row_of<float>(tensors.dkey, 0, key_column),
          .dv = row_of<float>(tensors.dvalue, 0, key_column),
          .dkv_stride = plan.key_heads * plan.width,
          .dvectors =
              row_of<float>(tensors.dvectors, static_cast<int64_t>(b) * plan.key_heads + key_head)};
}

/// Calls body(b, head) for each head of each sequence. Heads that share keys follow each other in
/// one thread.
template <class Body>
void for_each_head(const EdgePlan& plan, const Body& body) {
  const auto sequences = static_cast<int64_t>(plan.offsets.size()) - 1;
  const int64_t shared = plan.heads / plan.key_heads;
  parallel_for(0, sequences * plan.key_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const auto b = static_cast<std::size_t>(task / plan.key_heads);
      for (int64_t i = 0; i < shared; ++i) {
        body(b, task % plan.key_heads * shared + i);
      }
    }
  });
}

/// Drops numbers of the edges of one head of a sequence: the weights, or their gradients.
void drop_edges(const EdgePlan& plan, std::size_t b, int64_t head, const float* x, float* out) {
  const auto sequence = plan.first_sequence + static_cast<int64_t>(b);
  const auto count = plan.first_edge(b + 1) - plan.first_edge(b);
  operations<float>().dropout({.begin = 0, .end = 1, .columns = count, .first_row = 0},
                              to_dropout_rng(plan.rule, sequence, head), nullptr, x, out);
}

std::vector<float> edge_numbers(const EdgePlan& plan, std::size_t b) {
  return std::vector<float>(static_cast<std::size_t>(plan.first_edge(b + 1) - plan.first_edge(b)));
}

/// The weights after dropout, to which `work` then points; empty without dropout.
template <class T>
std::vector<float> drop_weights(const EdgePlan& plan,
                                std::size_t b,
                                int64_t head,
                                cpu::EdgeAttention<T>& work) {
  if (plan.rule.threshold == 0) {
    return {};
  }
  auto dropped = edge_numbers(plan, b);
  drop_edges(plan, b, head, work.weights, dropped.data());
  work.dropped = dropped.data();
  return dropped;
}

void attend_along_edges(const EdgePlan& plan, EdgeTensors& tensors) {
  count_edges(plan, 2);
  const auto& query = tensors.query;
  tensors.weights = at::empty({plan.heads, plan.edge_count()}, query.options().dtype(at::kFloat));
  tensors.out = at::empty({query.size(0), plan.heads * plan.width}, query.options());
  dispatch_element_type(query, [&](auto element) {
    using T = decltype(element);
    for_each_head(plan, [&](std::size_t b, int64_t head) {
      auto work = edge_work<T>(plan, tensors, b, head);
      operations<T>().edge_weights(work);
      const auto dropped = drop_weights(plan, b, head, work);
      operations<T>().edge_values(work);
    });
  });
}

void attend_along_edges_backward(const EdgePlan& plan, EdgeTensors& tensors) {
  count_edges(plan, 4);
  const auto fp32 = tensors.query.options().dtype(at::kFloat);
  const auto& query = tensors.query;
  tensors.dquery = at::empty({query.size(0), plan.heads * plan.width}, query.options());
  tensors.dkey = at::zeros({tensors.key.size(0), plan.key_heads * plan.width}, fp32);
  tensors.dvalue = at::zeros_like(tensors.dkey);
  if (tensors.vectors.defined()) {
    const auto sequences = static_cast<int64_t>(plan.offsets.size()) - 1;
    tensors.dvectors = at::zeros({sequences * plan.key_heads, tensors.vectors.numel()}, fp32);
  }
  dispatch_element_type(query, [&](auto element) {
    using T = decltype(element);
    for_each_head(plan, [&](std::size_t b, int64_t head) {
      auto work = edge_work<T>(plan, tensors, b, head);
      auto dweights = edge_numbers(plan, b);
      work.dweights = dweights.data();
      const auto dropped = drop_weights(plan, b, head, work);
      operations<T>().edge_values_backward(work);
      if (plan.rule.threshold > 0) {
        drop_edges(plan, b, head, work.dweights, work.dweights);
      }
      operations<T>().edge_weights_backward(work);
    });
  });
}

class EdgeAttentionFunction : public torch::autograd::Function<EdgeAttentionFunction> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& query,
                            const at::Tensor& key,
                            const at::Tensor& value,
                            const std::optional<at::Tensor>& vectors,
                            const c10::intrusive_ptr<EdgePlan>& plan) {
    EdgeTensors tensors{.query = query, .key = key, .value = value};
    tensors.vectors = vectors ? vectors->contiguous() : at::Tensor();
    attend_along_edges(*plan, tensors);
    context->save_for_backward({query, key, value, tensors.vectors, tensors.weights});
    context->saved_data["plan"] = c10::IValue::make_capsule(plan);
    return tensors.out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["plan"].toCapsule();
    EdgeTensors tensors{.query = saved[0],
                        .key = saved[1],
                        .value = saved[2],
                        .vectors = saved[3],
                        .weights = saved[4],
                        .gradient = gradients[0].contiguous()};
    attend_along_edges_backward(static_cast<const EdgePlan&>(*capsule), tensors);
    const auto type = saved[0].scalar_type();
    return {tensors.dquery,
            tensors.dkey.to(type),
            tensors.dvalue.to(type),
            tensors.dvectors.defined() ? column_sum(tensors.dvectors).view_as(tensors.vectors)
                                       : at::Tensor(),
            {}};
  }
};

}  // namespace

at::Tensor edge_attention(const AttentionInput& input,
                          const Layout& queries,
                          const std::shared_ptr<const AttentionEdges>& edges,
                          const at::Tensor& vectors,
                          const AttentionSettings& settings,
                          const RngKey& rng_key) {
  const ScopedOperationTimer timer(Operation::kAttention);
  if (!has_vector_kernel(input.query)) {
    return reference::edge_attention(input, queries, *edges, vectors, settings, rng_key);
  }
  auto plan = c10::make_intrusive<EdgePlan>();
  plan->edges = edges;
  plan->offsets = queries.offsets;
  plan->heads = settings.heads;
  plan->key_heads = settings.key_heads_or_heads();
  plan->width = input.query.size(1) / settings.heads;
  plan->scale = static_cast<float>(settings.scale_or_default(plan->width));
  plan->rule = attention_dropout_rule(settings.dropout, rng_key);
  plan->first_sequence = rng_key.first_sequence;
  return EdgeAttentionFunction::apply(
      input.query, input.key, input.value,
      optional(vectors.defined() ? vectors.to(at::kFloat) : vectors), plan);
}

at::Tensor reference::edge_attention(const AttentionInput& input,
                                     const Layout& queries,
                                     const AttentionEdges& edges,
                                     const at::Tensor& vectors,
                                     const AttentionSettings& settings,
                                     const RngKey& rng_key) {
  const auto device = input.query.device();
  const auto count = static_cast<int64_t>(edges.begins.size()) - 1;
  std::vector<int64_t> edge_queries;
  for (int64_t i = 0; i < count; ++i) {
    edge_queries.resize(static_cast<std::size_t>(edges.begins[static_cast<std::size_t>(i) + 1]), i);
  }
  const auto from = to_device(edge_queries, device);  // (E)
  const int64_t width = input.query.size(1) / settings.heads;
  const auto of_edges = [&](const at::Tensor& x, const at::Tensor& rows) {
    const auto heads = x.index_select(0, rows).to(accumulate_type(x)).unflatten(1, {-1, width});
    return at::repeat_interleave(heads, settings.heads / heads.size(1), 1);  // (E, H, K)
  };
  const auto rows_of = [&](const std::vector<int32_t>& rows) {
    return to_device(std::vector<int64_t>(rows.begin(), rows.end()), device);
  };
  const auto keys = rows_of(edges.keys);
  auto key = of_edges(input.key, keys);
  if (vectors.defined()) {
    key = key + vectors.to(key.scalar_type()).index_select(0, rows_of(edges.kinds)).unsqueeze(1);
  }
  const auto scores =
      (of_edges(input.query, from) * key).sum(-1) * settings.scale_or_default(width);  // (E, H)
  const auto shape = std::vector<int64_t>{count, settings.heads};
  const auto most =
      at::full(shape, -INFINITY, scores.options())
          .scatter_reduce(0, from.unsqueeze(1).expand_as(scores), scores.detach(), "amax");
  const auto powers = (scores - most.index_select(0, from)).exp();
  const auto sums = at::zeros(shape, scores.options()).index_add(0, from, powers);
  auto weights = powers / sums.index_select(0, from);
  if (settings.dropout > 0) {
    std::vector<at::Tensor> masks;
    for (int64_t b = 0; b < queries.sequences(); ++b) {
      const auto i = static_cast<std::size_t>(b);
      const auto own = edges.begins[static_cast<std::size_t>(queries.offsets[i + 1])] -
                       edges.begins[static_cast<std::size_t>(queries.offsets[i])];
      masks.push_back(attention_dropout_mask(
                          {.sequences = {b}, .heads = settings.heads, .queries = 1, .keys = own},
                          settings.dropout, rng_key, device)
                          .view({settings.heads, own}));
    }
    weights = weights * at::cat(masks, 1).t();
  }
  const auto mixed = at::zeros({count, settings.heads, width}, scores.options())
                         .index_add(0, from, weights.unsqueeze(-1) * of_edges(input.value, keys));
  return mixed.flatten(1).to(input.query.scalar_type());
}

}  // namespace weft::kernels
