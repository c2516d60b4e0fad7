#include "models/ngram/ngram_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include <ATen/Functions.h>

#include "base/error.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "models/config/family.h"
#include "models/ngram/counts.h"
#include "models/ngram/estimate.h"
#include "models/ngram/smoothing.h"
#include "nn/decoding_state.h"

namespace weft::models {

namespace {

constexpr int64_t kRowGrain = 64;

/// Row of a contiguous matrix.
template <class Value>
std::span<Value> row_of(const at::Tensor& matrix, int64_t row) {
  const auto width = matrix.size(1);
  return {matrix.data_ptr<Value>() + row * width, static_cast<std::size_t>(width)};
}

bool adds_k(const NgramOptions& options) {
  return !options.smoothing.empty() && smoothing_method(options.smoothing).adds_k;
}

[[noreturn]] void fail_table(std::size_t order, const std::string& problem) {
  throw UserError(
      str_cat("model.safetensors: the n-gram tables of order ", order, " are damaged: ", problem));
}

void check_probabilities(const NgramOrder& order, std::size_t number) {
  constexpr double kRounding = 1e-4;  // of ARPA files
  const auto probabilities = order.log_probability;
  if (probabilities.isnan().any().item<bool>() ||
      (probabilities > kRounding).any().item<bool>()) {
    fail_table(number, "a probability is not between 0 and 1");
  }
  if (order.backoff.defined() && order.backoff.isnan().any().item<bool>()) {
    fail_table(number, "a back-off weight is not a number");
  }
}

/// Checks that the children of each n-gram of order `number` are sorted, and every n-gram is one.
void check_children(const at::Tensor& first_child, const at::Tensor& tokens, std::size_t number) {
  const auto* begins = first_child.const_data_ptr<int32_t>();
  const auto* words = tokens.const_data_ptr<int32_t>();
  const auto count = first_child.numel() - 1;
  bool is_sorted = begins[0] == 0 && begins[count] == tokens.numel();
  for (int64_t i = 0; is_sorted && i < count; ++i) {
    is_sorted = begins[i] <= begins[i + 1] && begins[i + 1] <= tokens.numel();
    for (auto child = begins[i] + 1; is_sorted && child < begins[i + 1]; ++child) {
      is_sorted = words[child - 1] < words[child];
    }
  }
  if (!is_sorted) {
    fail_table(number, "its n-grams are not sorted");
  }
}

void check_tables(const std::vector<NgramOrder>& orders) {
  const auto vocabulary = orders[0].log_probability.numel();
  for (std::size_t i = 0; i < orders.size(); ++i) {
    const auto& order = orders[i];
    check_probabilities(order, i + 1);
    if (i > 0 && ((order.tokens < 0) | (order.tokens >= vocabulary)).any().item<bool>()) {
      fail_table(i + 1, "a token is outside the vocabulary");
    }
    if (i + 1 < orders.size()) {
      check_children(order.first_child, orders[i + 1].tokens, i + 1);
    }
  }
}

}  // namespace

std::vector<NgramBuffer> ngram_buffers(const ModelOptions& options) {
  const auto& ngram = options.ngram;
  std::vector<NgramBuffer> buffers;
  for (int64_t k = 1; k <= ngram.order; ++k) {
    const auto order = static_cast<std::size_t>(k) - 1;
    const auto count =
        k == 1 ? options.vocabulary : ngram.sizes.empty() ? 0 : ngram.sizes[order - 1];
    const auto add = [&](const char* name, at::Tensor NgramOrder::*part, int64_t size,
                         at::ScalarType type) {
      buffers.push_back(
          {.name = str_cat(name, "_", k), .order = order, .part = part, .size = size, .type = type});
    };
    if (k > 1) {
      add("tokens", &NgramOrder::tokens, count, at::kInt);
    }
    add("log_probability", &NgramOrder::log_probability, count, at::kFloat);
    if (k < ngram.order) {
      add("backoff", &NgramOrder::backoff, count, at::kFloat);
      add("first_child", &NgramOrder::first_child, count + 1, at::kInt);
    }
  }
  return buffers;
}

NgramModel::NgramModel(const ModelOptions& options)
    : options_(options), buffers_(static_cast<std::size_t>(options.ngram.order)) {
  for (const auto& buffer : ngram_buffers(options)) {
    buffers_[buffer.order].*buffer.part =
        register_buffer(buffer.name, at::zeros({buffer.size}, buffer.type));
  }
  buffers_[0].log_probability.fill_(-std::log(static_cast<double>(options.vocabulary)));
  tables_ = NgramTables(buffers_, adds_k(options_.ngram));
}

void NgramModel::set_tables(const std::vector<NgramOrder>& orders) {
  options_.ngram.sizes.clear();
  for (const auto& buffer : ngram_buffers(options_)) {
    (buffers_[buffer.order].*buffer.part).set_data(orders[buffer.order].*buffer.part);
  }
  for (std::size_t i = 1; i < orders.size(); ++i) {
    options_.ngram.sizes.push_back(orders[i].tokens.numel());
  }
  tables_ = NgramTables(buffers_, adds_k(options_.ngram));
}

void NgramModel::finish_loading() {
  check_tables(buffers_);
  tables_ = NgramTables(buffers_, adds_k(options_.ngram));
}

void NgramModel::fit(const TrainingSequences& data) {
  NgramCounter counter({.order = options_.ngram.order,
                        .vocabulary = options_.vocabulary,
                        .directory = data.directory});
  data.visit([&](std::span<const int64_t> ids) {
    // A text that begins inside the sequence has no history before it.
    while (!ids.empty()) {
      const auto next = std::ranges::find(ids.begin() + 1, ids.end(), options_.bos_id);
      counter.add(ids.first(static_cast<std::size_t>(next - ids.begin())));
      ids = {next, ids.end()};
    }
  });
  std::vector<bool> is_predicted(static_cast<std::size_t>(options_.vocabulary), true);
  for (const auto id : {options_.pad_id, options_.bos_id}) {
    if (id >= 0 && id != options_.eos_id) {
      is_predicted[static_cast<std::size_t>(id)] = false;
    }
  }
  set_tables(estimate_ngrams(counter.finish(), {.options = options_.ngram,
                                                .is_predicted = std::move(is_predicted),
                                                .directory = data.directory})
                 .orders);
}

at::Tensor NgramModel::hidden(const TextInput& input, const nn::ForwardContext& context) {
  const auto ids = input.ids.cpu().contiguous();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  const auto& offsets = context.layout.offsets;
  const auto width = static_cast<int64_t>(tables_.history_size());
  auto result = at::empty({ids.numel(), width}, at::kLong);  // (N, n - 1)
  at::Tensor kept;                                           // (B, n - 1)
  if (context.decoding_state != nullptr) {
    kept = context.decoding_state->sequence_tensor(0, "history");
  }
  const auto sequences = static_cast<int64_t>(offsets.size()) - 1;
  parallel_for(sequences, 1, [&](int64_t begin, int64_t end) {
    for (auto sequence = begin; sequence < end; ++sequence) {
      NgramHistory before;
      if (kept.defined()) {
        before = row_of<int64_t>(kept, sequence);
      }
      for (auto i = offsets[static_cast<std::size_t>(sequence)];
           i < offsets[static_cast<std::size_t>(sequence) + 1]; ++i) {
        TORCH_CHECK(tokens[i] >= 0 && tokens[i] < options_.vocabulary, "id ", tokens[i],
                    " is not below ", options_.vocabulary);
        const auto after = row_of<int64_t>(result, i);
        tables_.advance(tokens[i] == options_.bos_id ? NgramHistory() : before, tokens[i], after);
        before = after;
      }
    }
  });
  if (context.decoding_state != nullptr) {
    context.decoding_state->sequence_tensor(0, "history") =
        nn::RowSelection::last_tokens(context).select(result);
  }
  return result;
}

at::Tensor NgramModel::lm_logits(const at::Tensor& states) {
  const auto rows = states.contiguous();
  auto logits = at::empty({rows.size(0), options_.vocabulary}, at::kFloat);  // (M, V)
  parallel_for(rows.size(0), 1, [&](int64_t begin, int64_t end) {
    for (auto row = begin; row < end; ++row) {
      tables_.log_probabilities(row_of<int64_t>(rows, row), row_of<float>(logits, row));
    }
  });
  return logits;
}

at::Tensor NgramModel::lm_loss(const at::Tensor& states,
                               const at::Tensor& targets,
                               double /*smoothing*/) {
  const auto ids = targets.cpu().contiguous();
  const auto* data = ids.const_data_ptr<int64_t>();
  const auto losses = lm_metrics(states, {data, data + ids.numel()}).losses;
  return at::scalar_tensor(std::accumulate(losses.begin(), losses.end(), 0.0), at::kFloat);
}

TokenMetrics NgramModel::lm_metrics(const at::Tensor& states,
                                    const std::vector<int64_t>& targets) {
  const auto rows = states.contiguous();
  const auto count = static_cast<int64_t>(targets.size());
  TokenMetrics result{.losses = std::vector<double>(targets.size()),
                      .predictions = std::vector<int64_t>(targets.size()),
                      .scores = std::vector<double>(targets.size())};
  parallel_for(count, kRowGrain, [&](int64_t begin, int64_t end) {
    for (auto row = begin; row < end; ++row) {
      const auto at = static_cast<std::size_t>(row);
      const auto history = row_of<int64_t>(rows, row);
      const auto target = targets[at];
      // After the end of a text, nothing but the next one can begin.
      const bool is_certain = target == options_.bos_id && tables_.is_never_predicted(target);
      result.losses[at] = is_certain ? 0 : -tables_.log_probability(history, target);
      result.predictions[at] = is_certain ? target : tables_.most_likely(history);
      result.scores[at] = std::exp(
          is_certain ? 0 : tables_.log_probability(history, result.predictions[at]));
    }
  });
  return result;
}

void NgramModel::to(torch::Device /*device*/, torch::Dtype /*dtype*/, bool /*non_blocking*/) {}
void NgramModel::to(torch::Dtype /*dtype*/, bool /*non_blocking*/) {}
void NgramModel::to(torch::Device /*device*/, bool /*non_blocking*/) {}

}  // namespace weft::models
