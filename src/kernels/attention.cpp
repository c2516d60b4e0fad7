#include "kernels/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/operation_clock.h"
#include "kernels/reference.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What the backward pass must know besides tensors.
struct Plan : torch::CustomClassHolder {
  std::vector<int64_t> offsets;
  std::vector<int64_t> order;  // of sequences, longest first: the last tasks are small ones
  int64_t heads = 1;
  int64_t width = 0;  // K
  int64_t first_sequence = 0;
  float scale = 1;
  bool is_causal = false;
  int64_t reach = -1;
  at::Tensor rotary;  // (L or more, K) fp32, or undefined
  DropRule rule;
};

c10::intrusive_ptr<Plan> make_plan(const at::Tensor& qkv,
                                   const Layout& layout,
                                   const AttentionSettings& settings,
                                   const Chance& chance) {
  auto plan = c10::make_intrusive<Plan>();
  plan->offsets = layout.offsets;
  plan->order.resize(layout.sequences());
  std::iota(plan->order.begin(), plan->order.end(), 0);
  const auto length = [&](int64_t b) { return plan->offsets[b + 1] - plan->offsets[b]; };
  std::stable_sort(plan->order.begin(), plan->order.end(),
                   [&](int64_t a, int64_t b) { return length(a) > length(b); });
  plan->heads = settings.heads;
  plan->width = qkv.size(1) / 3 / settings.heads;
  plan->first_sequence = chance.first_sequence;
  plan->scale = static_cast<float>(
      settings.scale != 0.0 ? settings.scale : 1.0 / std::sqrt(static_cast<double>(plan->width)));
  plan->is_causal = settings.is_causal;
  plan->reach = settings.reach;
  plan->rotary = settings.rotary;
  plan->rule = attention_drop_rule(settings.dropout, chance);
  return plan;
}

// Memory of one thread for one task, kept from call to call.
float* scratch(int64_t floats) {
  constexpr int64_t kAlignment = 64;
  thread_local std::unique_ptr<float[]> memory;
  thread_local int64_t size = 0;
  const int64_t wanted = floats + kAlignment;
  if (size < wanted) {
    memory.reset();
    memory.reset(new float[wanted]);
    size = wanted;
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  return reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

struct Tensors {
  at::Tensor qkv;
  at::Tensor out;
  at::Tensor lse;       // (H, N) fp32
  at::Tensor gradient;  // of out; backward only
  at::Tensor dqkv;
};

template <class T>
cpu::AttentionTask<T> task_of(const Plan& plan, const Tensors& tensors, int64_t b, int64_t head) {
  const int64_t dim = plan.heads * plan.width;
  const int64_t row = plan.offsets[b];
  const int64_t length = plan.offsets[b + 1] - row;
  const int64_t place = row * 3 * dim + head * plan.width;
  const int64_t out_place = row * dim + head * plan.width;
  const auto at = [](const at::Tensor& x, int64_t offset) {
    return x.defined() ? elements<T>(x) + offset : nullptr;
  };
  auto draws = draws_of(plan.rule);
  draws.second = static_cast<uint32_t>(plan.first_sequence + b);
  draws.third = static_cast<uint32_t>(head);
  return {.q = at(tensors.qkv, place),
          .k = at(tensors.qkv, place + dim),
          .v = at(tensors.qkv, place + 2 * dim),
          .q_stride = 3 * dim,
          .kv_stride = 3 * dim,
          .queries = length,
          .keys = length,
          .width = plan.width,
          .scale = plan.scale,
          .is_causal = plan.is_causal,
          .reach = plan.reach < 0 ? length : plan.reach,
          .rotary = elements<const float>(plan.rotary),
          .draws = draws,
          .out = at(tensors.out, out_place),
          .out_stride = dim,
          .lse = elements<float>(tensors.lse) + head * plan.offsets.back() + row,
          .scratch = scratch(cpu::attention_scratch(length, length, plan.width)),
          .gradient = at(tensors.gradient, out_place),
          .dq = at(tensors.dqkv, place),
          .dk = at(tensors.dqkv, place + dim),
          .dv = at(tensors.dqkv, place + 2 * dim)};
}

// Threads take the next task when they are done with one; each task's result is its own.
template <class T>
void for_each_task(const Plan& plan,
                   const Tensors& tensors,
                   void (*run)(const cpu::AttentionTask<T>&)) {
  const int64_t tasks = static_cast<int64_t>(plan.order.size()) * plan.heads;
  std::atomic<int64_t> next{0};
  parallel_for(0, std::min<int64_t>(tasks, parallel_threads()), 1, [&](int64_t, int64_t) {
    for (int64_t task = next++; task < tasks; task = next++) {
      const int64_t b = plan.order[task / plan.heads];
      if (plan.offsets[b + 1] > plan.offsets[b]) {
        run(task_of<T>(plan, tensors, b, task % plan.heads));
      }
    }
  });
}

class Attention : public torch::autograd::Function<Attention> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& given,
                            const Layout& layout,
                            const AttentionSettings& settings,
                            const Chance& chance) {
    const auto qkv = given.contiguous();
    const auto plan = make_plan(qkv, layout, settings, chance);
    const Tensors tensors{
        .qkv = qkv,
        .out = at::empty({qkv.size(0), qkv.size(1) / 3}, qkv.options()),
        .lse = at::empty({settings.heads, qkv.size(0)}, qkv.options().dtype(at::kFloat)),
        .gradient = {},
        .dqkv = {}};
    with_element(qkv, [&](auto element) {
      using T = decltype(element);
      for_each_task<T>(*plan, tensors, operations<T>().attention_forward);
    });
    context->save_for_backward({qkv, tensors.out, tensors.lse});
    context->saved_data["plan"] = c10::IValue::make_capsule(plan);
    return tensors.out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto capsule = context->saved_data["plan"].toCapsule();
    const auto& plan = static_cast<const Plan&>(*capsule);
    const Tensors tensors{.qkv = saved[0],
                          .out = saved[1],
                          .lse = saved[2],
                          .gradient = gradients[0].contiguous(),
                          .dqkv = at::empty_like(saved[0])};
    with_element(tensors.qkv, [&](auto element) {
      using T = decltype(element);
      for_each_task<T>(plan, tensors, operations<T>().attention_backward);
    });
    return {tensors.dqkv, {}, {}, {}};
  }
};

void check_rotary(const at::Tensor& table, const Layout& layout, int64_t width) {
  const bool is_table = table.dim() == 2 && table.is_contiguous() &&
                        table.scalar_type() == at::kFloat && table.size(0) >= layout.longest &&
                        table.size(1) == width && width % 2 == 0;
  TORCH_CHECK(is_table, "attention expects a rotary table (", layout.longest, " or more, ", width,
              ") of fp32 with an even width, got ", table.sizes());
}

}  // namespace

at::Tensor attention(const at::Tensor& qkv,
                     const Layout& layout,
                     const AttentionSettings& settings,
                     const Chance& chance) {
  const Timed timed(Operation::kAttention);
  TORCH_CHECK(settings.heads > 0 && qkv.dim() == 2 && qkv.size(1) % (3 * settings.heads) == 0,
              "attention expects qkv (N, 3 * ", settings.heads, " heads * K), got ", qkv.sizes());
  TORCH_CHECK(qkv.size(0) == layout.tokens(),
              "attention expects as many rows as the layout has tokens, ", layout.tokens(),
              ", got ", qkv.size(0));
  if (settings.rotary.defined()) {
    check_rotary(settings.rotary, layout, qkv.size(1) / 3 / settings.heads);
  }
  return is_served(qkv) ? Attention::apply(qkv, layout, settings, chance)
                        : reference::attention(qkv, layout, settings, chance);
}

}  // namespace weft::kernels
