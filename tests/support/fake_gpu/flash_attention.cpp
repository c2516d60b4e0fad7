// Flash attention for CPUs, which LibTorch has only for GPUs: what its operation is defined to
// compute (arXiv:2307.08691), in a simple way, one sequence after the other. Rejects what the
// GPU kernels reject. Dropout masks come from the default generator, as in LibTorch.
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <torch/library.h>

namespace {

/// The arguments of a call by their names, which other versions of LibTorch put elsewhere.
class Arguments {
 public:
  Arguments(const c10::OperatorHandle& operation, const torch::jit::Stack& stack)
      : schema_(operation.schema()), values_(stack) {}

  const c10::IValue& operator[](const std::string& name) const {
    const auto place = schema_.argumentIndexWithName(name);
    TORCH_CHECK(place.has_value(), "this LibTorch's flash attention has no '", name, "'");
    return values_[values_.size() - schema_.arguments().size() + static_cast<std::size_t>(*place)];
  }
  int64_t window(const std::string& name) const {
    const auto& value = (*this)[name];
    return value.isNone() ? -1 : value.toInt();
  }

 private:
  const c10::FunctionSchema& schema_;
  const torch::jit::Stack& values_;
};

struct Call {
  at::Tensor q;  // (N, H, K)
  at::Tensor k;  // (M, G, K)
  at::Tensor v;
  at::Tensor query_ends;
  at::Tensor key_ends;
  double p = 0;
  double scale = 0;
  bool is_causal = false;
  int64_t left = -1;
  int64_t right = -1;
};

void check_ends(const at::Tensor& ends, int64_t longest, int64_t rows) {
  TORCH_CHECK(ends.scalar_type() == at::kInt && ends.is_contiguous(),
              "flash attention expects contiguous offsets of 32 bits");
  const auto lengths = ends.slice(0, 1) - ends.slice(0, 0, -1);
  TORCH_CHECK(ends[-1].item<int64_t>() == rows && lengths.max().item<int64_t>() <= longest,
              "flash attention expects offsets of all ", rows, " rows, none longer than ", longest);
}

Call read(const Arguments& arguments) {
  Call call{.q = arguments["query"].toTensor(),
            .k = arguments["key"].toTensor(),
            .v = arguments["value"].toTensor(),
            .query_ends = arguments["cum_seq_q"].toTensor(),
            .key_ends = arguments["cum_seq_k"].toTensor(),
            .p = arguments["dropout_p"].toDouble(),
            .is_causal = arguments["is_causal"].toBool(),
            .left = arguments.window("window_size_left"),
            .right = arguments.window("window_size_right")};
  for (const auto& x : {call.q, call.k, call.v}) {
    TORCH_CHECK((x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kHalf) &&
                    x.stride(-1) == 1 && x.size(2) % 8 == 0 && x.size(2) <= 256,
                "flash attention expects close features in 16 bits, of ", x.sizes());
  }
  TORCH_CHECK(call.q.size(1) % call.k.size(1) == 0, "heads of keys must divide those of queries");
  check_ends(call.query_ends, arguments["max_q"].toInt(), call.q.size(0));
  check_ends(call.key_ends, arguments["max_k"].toInt(), call.k.size(0));
  const auto& scale = arguments["scale"];
  call.scale =
      scale.isNone() ? 1.0 / std::sqrt(static_cast<double>(call.q.size(2))) : scale.toDouble();
  return call;
}

/// One sequence: its rows, its weights and their drops.
struct Sequence {
  int64_t query, queries, key, keys;
  at::Tensor weights;  // (H, L, S) fp32
  at::Tensor kept;     // (H, L, S): 0 or 1 / (1 - p)
};

at::Tensor rows(const at::Tensor& x, int64_t begin, int64_t count, int64_t heads) {
  return x.narrow(0, begin, count)
      .to(at::kFloat)
      .repeat_interleave(heads / x.size(1), 1)
      .transpose(0, 1);  // (H, L, K)
}

std::vector<Sequence> sequences_of(const Call& call, uint64_t seed) {
  std::vector<Sequence> result;
  const auto heads = call.q.size(1);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (int64_t b = 0; b + 1 < call.query_ends.size(0); ++b) {
    Sequence one;
    one.query = call.query_ends[b].item<int64_t>();
    one.queries = call.query_ends[b + 1].item<int64_t>() - one.query;
    one.key = call.key_ends[b].item<int64_t>();
    one.keys = call.key_ends[b + 1].item<int64_t>() - one.key;
    const auto distance = at::arange(one.keys) - at::arange(one.queries).unsqueeze(1) -
                          (one.keys - one.queries);  // the last query is aligned with the last key
    auto is_hidden = at::zeros_like(distance, at::kBool);
    if (call.is_causal || call.right >= 0) {
      is_hidden = is_hidden | (distance > (call.is_causal ? 0 : call.right));
    }
    if (call.left >= 0) {
      is_hidden = is_hidden | (distance < -call.left);
    }
    const auto scores = at::matmul(rows(call.q, one.query, one.queries, heads),
                                   rows(call.k, one.key, one.keys, heads).transpose(1, 2));
    one.weights =
        at::softmax((scores * call.scale).masked_fill(is_hidden, -INFINITY), -1).nan_to_num(0.0);
    one.kept = at::empty_like(one.weights).bernoulli_(1.0 - call.p, generator) / (1.0 - call.p);
    result.push_back(std::move(one));
  }
  return result;
}

void forward(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const auto call = read({operation, *stack});
  uint64_t seed = 0;
  {
    auto generator = at::detail::getDefaultCPUGenerator();
    const std::lock_guard lock(generator.mutex());
    seed = call.p > 0.0 ? at::check_generator<at::CPUGeneratorImpl>(generator)->random64() : 0;
  }
  const auto out = at::zeros_like(call.q, at::MemoryFormat::Contiguous);
  for (const auto& one : sequences_of(call, seed)) {
    const auto v = rows(call.v, one.key, one.keys, call.q.size(1));
    out.narrow(0, one.query, one.queries)
        .copy_(at::matmul(one.weights * one.kept, v).transpose(0, 1));
  }
  torch::jit::drop(*stack, operation.schema().arguments().size());
  const auto unused = at::empty({0}, call.q.options());
  torch::jit::push(*stack, out, at::zeros({call.q.size(1), call.q.size(0)}),
                   at::scalar_tensor(static_cast<int64_t>(seed), at::kLong), unused, unused);
}

void backward(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const Arguments arguments(operation, *stack);
  const auto call = read(arguments);
  const auto gradient = arguments["grad_out"].toTensor();
  const auto seed = static_cast<uint64_t>(arguments["rng_state"].toTensor().item<int64_t>());
  const auto heads = call.q.size(1);
  const auto dq = at::zeros_like(call.q, at::MemoryFormat::Contiguous);
  const auto dk = at::zeros_like(call.k, at::MemoryFormat::Contiguous);
  const auto dv = at::zeros_like(call.v, at::MemoryFormat::Contiguous);
  for (const auto& one : sequences_of(call, seed)) {
    const auto q = rows(call.q, one.query, one.queries, heads);
    const auto k = rows(call.k, one.key, one.keys, heads);
    const auto v = rows(call.v, one.key, one.keys, heads);
    const auto g = rows(gradient, one.query, one.queries, heads);
    const auto dweights = at::matmul(g, v.transpose(1, 2)) * one.kept;
    const auto dscores =
        one.weights * (dweights - (dweights * one.weights).sum(-1, true)) * call.scale;
    // Heads of queries that share one of keys add up.
    const auto put = [&](const at::Tensor& into, int64_t begin, const at::Tensor& x) {
      const auto own = into.size(1);
      into.narrow(0, begin, x.size(1))
          .copy_(x.transpose(0, 1).reshape({x.size(1), own, heads / own, x.size(2)}).sum(2));
    };
    put(dq, one.query, at::matmul(dscores, k));
    put(dk, one.key, at::matmul(dscores.transpose(1, 2), q));
    put(dv, one.key, at::matmul((one.weights * one.kept).transpose(1, 2), g));
  }
  torch::jit::drop(*stack, operation.schema().arguments().size());
  torch::jit::push(*stack, dq, dk, dv);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, CPU, library) {
  library.impl("_flash_attention_forward", torch::CppFunction::makeFromBoxedFunction<&forward>());
  library.impl("_flash_attention_backward", torch::CppFunction::makeFromBoxedFunction<&backward>());
}
