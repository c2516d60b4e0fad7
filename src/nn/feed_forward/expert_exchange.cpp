#include "nn/feed_forward/expert_exchange.h"

#include <numeric>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/embedding.h"
#include "kernels/to_device.h"

namespace weft::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

thread_local ExpertExchange* exchange_of_thread = nullptr;

class ExchangeRows : public torch::autograd::Function<ExchangeRows> {
 public:
  /// `anchor` needs a gradient, so that all ranks run the backward pass, whatever they receive.
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& rows,
                            const at::Tensor& /*anchor*/,
                            ExpertExchange* exchange,
                            const std::vector<int64_t>& sent,
                            const std::vector<int64_t>& received) {
    context->saved_data["sent"] = sent;
    context->saved_data["received"] = received;
    return exchange->exchange(rows.contiguous(), sent, received);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    auto* const exchange = exchange_of_thread;
    TORCH_CHECK(exchange != nullptr, "the ExpertExchange of the forward pass no longer exists");
    const auto sent = context->saved_data["sent"].toIntVector();
    const auto received = context->saved_data["received"].toIntVector();
    return {exchange->exchange(gradients[0].contiguous(), received, sent), {}, {}, {}, {}};
  }
};

at::Tensor exchange_rows(ExpertExchange& exchange,
                         const at::Tensor& rows,
                         const std::vector<int64_t>& sent,
                         const std::vector<int64_t>& received) {
  if (!rows.is_floating_point()) {
    return exchange.exchange(rows.contiguous(), sent, received);
  }
  const auto anchor = at::zeros({}, rows.options().requires_grad(at::GradMode::is_enabled()));
  return ExchangeRows::apply(rows, anchor, &exchange, sent, received);
}

at::Tensor select(const at::Tensor& rows, const std::vector<int64_t>& index) {
  const auto places = kernels::to_device(index, rows.device());
  return rows.is_floating_point() ? kernels::gather_rows(rows, places)
                                  : rows.index_select(0, places);
}

}  // namespace

int64_t first_expert(int rank, int64_t experts, int ranks) { return rank * experts / ranks; }

ExpertExchange::ExpertExchange() {
  TORCH_CHECK(exchange_of_thread == nullptr, "ExpertExchange: the thread has one already");
  exchange_of_thread = this;
}

ExpertExchange::~ExpertExchange() { exchange_of_thread = nullptr; }

ExpertExchange* ExpertExchange::of(const Expert& expert) {
  return exchange_of_thread != nullptr && exchange_of_thread->divides(expert) ? exchange_of_thread
                                                                              : nullptr;
}

ExpertDispatch::ExpertDispatch(ExpertExchange& exchange, const std::vector<int64_t>& counts)
    : exchange_(exchange) {
  const auto experts = std::ssize(counts);
  const int ranks = exchange.ranks();
  const auto first_of = [&](int rank) { return first_expert(rank, experts, ranks); };
  first_ = first_of(exchange.rank());
  const auto own = first_of(exchange.rank() + 1) - first_;
  std::vector<int64_t> experts_of_ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    experts_of_ranks.push_back(first_of(rank + 1) - first_of(rank));
    sent_.push_back(std::accumulate(counts.begin() + first_of(rank),
                                    counts.begin() + first_of(rank + 1), int64_t{0}));
  }
  const auto of_ranks =
      exchange.exchange(at::tensor(counts, at::kLong).unsqueeze(1), experts_of_ranks,
                        std::vector<int64_t>(static_cast<std::size_t>(ranks), own));
  const auto* const count = of_ranks.const_data_ptr<int64_t>();  // rank, own expert
  std::vector<int64_t> begins(static_cast<std::size_t>(ranks * own));
  int64_t total = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto before = total;
    for (int64_t e = 0; e < own; ++e) {
      begins[static_cast<std::size_t>(rank * own + e)] =
          std::exchange(total, total + count[rank * own + e]);
    }
    received_.push_back(total - before);
  }
  by_rank_.resize(static_cast<std::size_t>(total));
  for (int64_t e = 0; e < own; ++e) {
    const auto before = std::ssize(by_expert_);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto begin = begins[static_cast<std::size_t>(rank * own + e)];
      for (auto row = begin; row < begin + count[rank * own + e]; ++row) {
        by_rank_[static_cast<std::size_t>(row)] = std::ssize(by_expert_);
        by_expert_.push_back(row);
      }
    }
    counts_.push_back(std::ssize(by_expert_) - before);
  }
}

at::Tensor ExpertDispatch::send(const at::Tensor& rows) const {
  return select(exchange_rows(exchange_, rows, sent_, received_), by_expert_);
}

at::Tensor ExpertDispatch::send_back(const at::Tensor& rows) const {
  return exchange_rows(exchange_, select(rows, by_rank_), received_, sent_);
}

}  // namespace weft::nn
