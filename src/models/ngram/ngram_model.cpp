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
#include "nn/carried_state.h"
#include "nn/decoding_state.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

namespace {

constexpr int64_t kRowGrain = 64;

/// Row of a contiguous matrix.
template <class Value>
std::span<Value> row_of(const at::Tensor& matrix, int64_t row) {
  const auto width = matrix.size(1);
  return {matrix.data_ptr<Value>() + row * width, static_cast<std::size_t>(width)};
}

constexpr auto kHistoryName = "ngram_history";

bool continues_streams(const nn::ForwardContext& context) {
  return context.carried_state != nullptr && !context.streams.empty();
}

/// The history (n - 1) that each sequence continues, or undefined.
std::vector<at::Tensor> kept_histories(const nn::ForwardContext& context) {
  std::vector<at::Tensor> result(static_cast<std::size_t>(context.layout.sequences()));
  if (context.decoding_state != nullptr) {
    const auto& all = context.decoding_state->sequence_tensor(0, kHistoryName);
    for (std::size_t b = 0; all.defined() && b < result.size(); ++b) {
      result[b] = all[static_cast<int64_t>(b)].contiguous();
    }
  } else if (continues_streams(context)) {
    for (std::size_t b = 0; b < result.size(); ++b) {
      const auto carried = context.carried_state->get(context.streams[b], kHistoryName);
      result[b] = carried.defined() ? carried.cpu().contiguous() : carried;
    }
  }
  return result;
}

/// Keeps the last of the histories (N, n - 1) of each sequence.
void keep_histories(const at::Tensor& histories, const nn::ForwardContext& context) {
  if (context.decoding_state == nullptr && !continues_streams(context)) {
    return;
  }
  std::vector<at::Tensor> last;
  for (std::size_t b = 1; b < context.layout.offsets.size(); ++b) {
    last.push_back(histories[context.layout.offsets[b] - 1]);
  }
  if (context.decoding_state != nullptr) {
    context.decoding_state->sequence_tensor(0, kHistoryName) = at::stack(last);
    return;
  }
  for (std::size_t b = 0; b < last.size(); ++b) {
    context.carried_state->set(context.streams[b], kHistoryName, last[b].clone());
  }
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
  if (probabilities.isnan().any().item<bool>() || (probabilities > kRounding).any().item<bool>()) {
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

/// Number of language models.
std::size_t model_count(const ModelOptions& options) {
  return options.head == Head::kSequence ? options.labels.size() : 1;
}

}  // namespace

std::vector<NgramBuffer> ngram_buffers(const ModelOptions& options) {
  const auto& ngram = options.ngram;
  const auto higher_orders = static_cast<std::size_t>(ngram.order) - 1;
  const auto models = model_count(options);
  if (!ngram.sizes.empty() && ngram.sizes.size() != models * higher_orders) {
    throw UserError(str_cat("config.json: ngram_counts: found ", ngram.sizes.size(),
                            " numbers, must be ", models * higher_orders,
                            ", one for each order above 1 and each class"));
  }
  std::vector<NgramBuffer> buffers;
  for (std::size_t model = 0; model < models; ++model) {
    const auto prefix = options.head == Head::kSequence ? str_cat("class_", model, "_") : "";
    for (std::size_t order = 0; order <= higher_orders; ++order) {
      const auto count = order == 0            ? options.vocabulary
                         : ngram.sizes.empty() ? 0
                                               : ngram.sizes[model * higher_orders + order - 1];
      const auto add = [&](const char* name, at::Tensor NgramOrder::*part, int64_t size,
                           at::ScalarType type) {
        buffers.push_back({.name = str_cat(prefix, name, "_", order + 1),
                           .model = model,
                           .order = order,
                           .part = part,
                           .size = size,
                           .type = type});
      };
      if (order > 0) {
        add("tokens", &NgramOrder::tokens, count, at::kInt);
      }
      add("log_probability", &NgramOrder::log_probability, count, at::kFloat);
      if (order < higher_orders) {
        add("backoff", &NgramOrder::backoff, count, at::kFloat);
        add("first_child", &NgramOrder::first_child, count + 1, at::kInt);
      }
    }
  }
  return buffers;
}

NgramBase::NgramBase(const ModelOptions& options)
    : options_(options),
      buffers_(model_count(options),
               std::vector<NgramOrder>(static_cast<std::size_t>(options.ngram.order))) {
  for (const auto& buffer : ngram_buffers(options)) {
    buffers_[buffer.model][buffer.order].*buffer.part =
        register_buffer(buffer.name, at::zeros({buffer.size}, buffer.type));
  }
  for (const auto& orders : buffers_) {
    orders[0].log_probability.fill_(-std::log(static_cast<double>(options.vocabulary)));
  }
  use_buffers();
}

void NgramBase::use_buffers() {
  tables_.clear();
  for (auto orders : buffers_) {
    for (auto& order : orders) {
      for (auto part : {&NgramOrder::tokens, &NgramOrder::log_probability, &NgramOrder::backoff,
                        &NgramOrder::first_child}) {
        // A tensor of its own, which keeps its values if the buffer is converted.
        order.*part = (order.*part).defined() ? (order.*part).detach() : at::Tensor();
      }
    }
    tables_.emplace_back(std::move(orders), adds_k(options_.ngram));
  }
}

void NgramBase::set_tables(const std::vector<std::vector<NgramOrder>>& models) {
  options_.ngram.sizes.clear();
  for (const auto& buffer : ngram_buffers(options_)) {
    (buffers_[buffer.model][buffer.order].*buffer.part)
        .set_data(models[buffer.model][buffer.order].*buffer.part);
  }
  for (const auto& orders : models) {
    for (std::size_t i = 1; i < orders.size(); ++i) {
      options_.ngram.sizes.push_back(orders[i].tokens.numel());
    }
  }
  use_buffers();
}

void NgramBase::finish_loading() {
  for (const auto& orders : buffers_) {
    check_tables(orders);
  }
  use_buffers();
}

void NgramBase::fit(const TrainingSequences& data) {
  std::vector<NgramCounter> counters;
  counters.reserve(buffers_.size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    counters.emplace_back(NgramCounterOptions{.order = options_.ngram.order,
                                              .vocabulary = options_.vocabulary,
                                              .directory = data.directory});
  }
  data.visit([&](const TrainingSequence& sequence) {
    auto& counter = counters[buffers_.size() > 1 ? static_cast<std::size_t>(sequence.label) : 0];
    // A text that begins inside the sequence has no history before it.
    for (auto ids = sequence.ids; !ids.empty();) {
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
  std::vector<std::vector<NgramOrder>> models;
  models.reserve(counters.size());
  for (auto& counter : counters) {
    models.push_back(estimate_ngrams(counter.finish(), {.options = options_.ngram,
                                                        .is_predicted = is_predicted,
                                                        .directory = data.directory})
                         .orders);
  }
  set_tables(models);
}

void NgramBase::advance(std::size_t model,
                        NgramHistory before,
                        int64_t token,
                        std::span<int64_t> after) const {
  TORCH_CHECK(token >= 0 && token < options_.vocabulary, "id ", token, " is not below ",
              options_.vocabulary);
  tables_[model].advance(token == options_.bos_id ? NgramHistory() : before, token, after);
}

void NgramBase::to(torch::Device /*device*/, torch::Dtype /*dtype*/, bool /*non_blocking*/) {}
void NgramBase::to(torch::Dtype /*dtype*/, bool /*non_blocking*/) {}
void NgramBase::to(torch::Device /*device*/, bool /*non_blocking*/) {}

at::Tensor NgramModel::hidden(const TextInput& input, const nn::ForwardContext& context) {
  const auto ids = input.ids.cpu().contiguous();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  const auto& offsets = context.layout.offsets;
  const auto width = static_cast<int64_t>(tables().history_size());
  auto result = at::empty({ids.numel(), width}, at::kLong);  // (N, n - 1)
  const auto kept = kept_histories(context);                 // B
  const auto sequences = static_cast<int64_t>(offsets.size()) - 1;
  parallel_for(sequences, 1, [&](int64_t begin, int64_t end) {
    for (auto sequence = begin; sequence < end; ++sequence) {
      NgramHistory before;
      if (const auto& tokens_before = kept[static_cast<std::size_t>(sequence)];
          tokens_before.defined()) {
        before = {tokens_before.const_data_ptr<int64_t>(), static_cast<std::size_t>(width)};
      }
      for (auto i = offsets[static_cast<std::size_t>(sequence)];
           i < offsets[static_cast<std::size_t>(sequence) + 1]; ++i) {
        const auto after = row_of<int64_t>(result, i);
        advance(0, before, tokens[i], after);
        before = after;
      }
    }
  });
  keep_histories(result, context);
  return result;
}

at::Tensor NgramModel::lm_logits(const nn::TokenStates& rows) {
  const auto histories = rows.states.contiguous();
  const auto count = histories.size(0);
  auto logits = at::empty({count, options().vocabulary}, at::kFloat);  // (M, V)
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (auto row = begin; row < end; ++row) {
      tables().log_probabilities(row_of<int64_t>(histories, row), row_of<float>(logits, row));
    }
  });
  return logits;
}

at::Tensor NgramModel::lm_loss(const nn::TokenStates& rows,
                               const at::Tensor& targets,
                               const nn::ForwardContext& /*context*/,
                               double /*smoothing*/) {
  const auto ids = targets.cpu().contiguous();
  const auto* data = ids.const_data_ptr<int64_t>();
  const auto losses = lm_metrics(rows, {data, data + ids.numel()}).losses;
  return at::scalar_tensor(std::accumulate(losses.begin(), losses.end(), 0.0), at::kFloat);
}

TokenMetrics NgramModel::lm_metrics(const nn::TokenStates& rows,
                                    const std::vector<int64_t>& targets) {
  const auto histories = rows.states.contiguous();
  const auto count = static_cast<int64_t>(targets.size());
  TokenMetrics result{.losses = std::vector<double>(targets.size()),
                      .predictions = std::vector<int64_t>(targets.size()),
                      .scores = std::vector<double>(targets.size())};
  parallel_for(count, kRowGrain, [&](int64_t begin, int64_t end) {
    for (auto row = begin; row < end; ++row) {
      const auto at = static_cast<std::size_t>(row);
      const auto history = row_of<int64_t>(histories, row);
      const auto target = targets[at];
      // After the end of a text, nothing but the next one can begin.
      const bool is_certain = target == options().bos_id && tables().is_never_predicted(target);
      result.losses[at] = is_certain ? 0 : -tables().log_probability(history, target);
      result.predictions[at] = is_certain ? target : tables().most_likely(history);
      result.scores[at] =
          std::exp(is_certain ? 0 : tables().log_probability(history, result.predictions[at]));
    }
  });
  return result;
}

NgramClassifier::NgramClassifier(const ModelOptions& options) : NgramBase(options) {
  log_prior_ = register_buffer(
      kNgramLogPrior, at::zeros({static_cast<int64_t>(options.labels.size())}, at::kFloat));
}

void NgramClassifier::fit(const TrainingSequences& data) {
  auto counts = at::zeros_like(log_prior_, at::kDouble);
  const auto visit_and_count = [&](const auto& visit) {
    data.visit([&](const TrainingSequence& sequence) {
      ++counts.data_ptr<double>()[sequence.label];
      visit(sequence);
    });
  };
  NgramBase::fit({.visit = visit_and_count, .directory = data.directory});
  if (!options().ngram.has_uniform_prior) {
    log_prior_.copy_((counts / counts.sum()).log());
  }
}

at::Tensor NgramClassifier::hidden(const TextInput& input, const nn::ForwardContext& context) {
  constexpr float kLeast = -1e6F;  // so that a text with probability 0 in all classes has a class
  const auto ids = input.ids.cpu().contiguous();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  const auto& offsets = context.layout.offsets;
  const auto classes = log_prior_.numel();
  auto result = at::empty({ids.numel(), classes}, at::kFloat);  // (N, C)
  auto* rows = result.data_ptr<float>();
  const auto sequences = static_cast<int64_t>(offsets.size()) - 1;
  parallel_for(sequences * classes, 1, [&](int64_t begin, int64_t end) {
    for (auto i = begin; i < end; ++i) {
      const auto model = static_cast<std::size_t>(i % classes);
      const auto sequence = static_cast<std::size_t>(i / classes);
      const auto& own = tables(model);
      std::vector<int64_t> before;
      std::vector<int64_t> after(own.history_size());
      for (auto at = offsets[sequence]; at < offsets[sequence + 1]; ++at) {
        const bool is_predicted = !before.empty() && tokens[at] != options().bos_id;
        rows[at * classes + i % classes] =
            is_predicted
                ? std::max(static_cast<float>(own.log_probability(before, tokens[at])), kLeast)
                : 0;
        advance(model, before, tokens[at], after);
        before = after;
      }
    }
  });
  return result;
}

at::Tensor NgramClassifier::class_logits(const at::Tensor& hidden,
                                         const nn::ForwardContext& context) {
  return nn::segment_sum(hidden, context.layout) / options().ngram.temperature + log_prior_;
}

}  // namespace weft::models
