#include "models/baselines/decomposable_attention.h"

#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/to_device.h"
#include "nn/dropout_sites.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

namespace {

// Dropout group of each network; never renumber.
constexpr int64_t kIntraSite = 0;
constexpr int64_t kAttendSite = 1;
constexpr int64_t kCompareSite = 2;
constexpr int64_t kAggregateSite = 3;

std::vector<int64_t> to_vector(const at::Tensor& values) {
  if (!values.defined()) {
    return {};
  }
  const auto host = values.cpu().contiguous();
  const auto* data = host.const_data_ptr<int64_t>();
  return {data, data + host.numel()};
}

/// 1 for the rows of a text, else 0, (N, 1).
at::Tensor decomposable_rows_of(const std::vector<nn::TextPair>& pairs,
                                nn::TextSpan nn::TextPair::*text,
                                const at::Tensor& like) {
  auto mask = at::zeros({like.size(0)}, at::kFloat);
  for (const auto& pair : pairs) {
    const auto& rows = pair.*text;
    mask.narrow(0, rows.begin, rows.size).fill_(1.0);
  }
  return mask.to(like.options()).unsqueeze(1);
}

/// Each text begins one row earlier, at the special token before it, which becomes `null_id`.
at::Tensor with_null_tokens(const at::Tensor& ids,
                            std::vector<nn::TextPair>& pairs,
                            const std::vector<int64_t>& offsets,
                            int64_t null_id) {
  std::vector<int64_t> rows;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    auto& first = pairs[i].first;
    auto& second = pairs[i].second;
    first.begin = first.size > 0 ? first.begin : offsets[i] + 1;
    const bool has_room = first.begin > offsets[i] && second.begin > first.begin + first.size;
    if (null_id < 0 || !has_room) {
      throw UserError(
          "model.null_token: needs a tokenizer with a special token before each of two texts");
    }
    for (auto* text : {&first, &second}) {
      --text->begin;
      ++text->size;
      rows.push_back(text->begin);
    }
  }
  return ids.index_fill(0, kernels::to_device(rows, ids.device()), null_id);
}

}  // namespace

MlpImpl::MlpImpl(const MlpOptions& options) {
  first_ = register_module("first", nn::Linear(nn::LinearOptions{options.inputs, options.width}));
  second_ = register_module("second", nn::Linear(nn::LinearOptions{options.width, options.width}));
}

at::Tensor MlpImpl::forward(const at::Tensor& x,
                            double dropout,
                            const kernels::RngKey& outer,
                            const kernels::RngKey& inner) {
  constexpr auto kRelu = kernels::Activation::kRelu;
  const auto hidden =
      kernels::activate(first_->forward(kernels::dropout(x, dropout, outer)), kRelu);
  return kernels::activate(second_->forward(kernels::dropout(hidden, dropout, inner)), kRelu);
}

std::vector<nn::TextPair> text_pairs(const std::vector<int64_t>& ids,
                                     const std::vector<int64_t>& types,
                                     const std::vector<int64_t>& offsets,
                                     const ModelOptions& options) {
  const auto is_special = [&](int64_t row) {
    const auto id = ids[static_cast<std::size_t>(row)];
    return id == options.pad_id || id == options.bos_id || id == options.eos_id;
  };
  // Trims special tokens at both ends.
  const auto text_in = [&](int64_t begin, int64_t end) {
    while (begin < end && is_special(begin)) {
      ++begin;
    }
    while (begin < end && is_special(end - 1)) {
      --end;
    }
    return nn::TextSpan{.begin = begin, .size = end - begin};
  };
  std::vector<nn::TextPair> pairs;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto begin = offsets[i];
    const auto end = offsets[i + 1];
    auto border = end;  // first row of the second text
    if (!types.empty()) {
      border = std::find_if(types.begin() + begin, types.begin() + end,
                            [](int64_t type) { return type > 0; }) -
               types.begin();
    }
    if (border == end) {
      const auto last = ids.begin() + end;
      const auto first = std::find(ids.begin() + begin, last, options.eos_id);
      const bool has_second = first != last && std::find(first + 1, last, options.eos_id) != last;
      border = has_second ? first - ids.begin() : end;
    }
    if (border == end) {
      throw UserError(
          "decomposable_attention needs two texts, found one: give each row a text_pair");
    }
    pairs.push_back({.first = text_in(begin, border), .second = text_in(border, end)});
  }
  return pairs;
}

DecomposableAttention::DecomposableAttention(const ModelOptions& options) : Baseline(options) {
  const auto& own = options.decomposable;
  const auto width = own.intra_attention ? 2 * options.dim : options.dim;
  const auto network = [&](const char* name, int64_t inputs) {
    return register_module(name, Mlp(MlpOptions{.inputs = inputs, .width = own.hidden}));
  };
  embedding_ =
      register_parameter("embedding", at::empty({options.vocabulary, options.embedding_size}));
  project_ = register_module(
      "project", nn::Linear(nn::LinearOptions{options.embedding_size, options.dim, false}));
  if (own.intra_attention) {
    intra_ = network("intra", options.dim);
    intra_bias_ = register_parameter("intra_bias", at::empty({2 * own.distance + 1}));
  }
  attend_ = network("attend", width);
  compare_ = network("compare", 2 * width);
  aggregate_ = network("aggregate", 2 * own.hidden);
  output_ =
      register_module("output", nn::Linear(nn::LinearOptions{own.hidden, head_outputs(options)}));
}

at::Tensor DecomposableAttention::run(MlpImpl& network,
                                      const at::Tensor& x,
                                      const nn::ForwardContext& context,
                                      int64_t site_group) {
  const auto outer = nn::site_id(site_group, nn::BlockDropoutSite::kFeedForward);
  const auto inner = nn::site_id(site_group, nn::BlockDropoutSite::kFeedForwardOutput);
  const bool is_sequence = site_group == kAggregateSite;
  return network.forward(x, context.rate(options().dropout),
                         is_sequence ? context.sequence_rng_key(outer) : context.rng_key(outer),
                         is_sequence ? context.sequence_rng_key(inner) : context.rng_key(inner));
}

at::Tensor DecomposableAttention::represent(const TextInput& input,
                                            const std::vector<nn::TextPair>& pairs,
                                            const nn::ForwardContext& context) {
  const auto words = kernels::embedding_sum(embedding_, input.ids, {}, {}, {}, {});  // (N, E)
  const auto x = project_->forward(words);                                           // (N, D)
  if (!intra_) {
    return x;
  }
  const auto features = run(*intra_, x, context, kIntraSite);
  return at::cat({x, nn::align_texts(features, x, intra_bias_, pairs)}, 1);  // (N, 2 D)
}

at::Tensor DecomposableAttention::hidden(const TextInput& given,
                                         const nn::ForwardContext& context) {
  auto input = given;
  auto pairs =
      text_pairs(to_vector(input.ids), to_vector(input.types), context.layout.offsets, options());
  if (options().decomposable.has_null_token) {
    input.ids = with_null_tokens(input.ids, pairs, context.layout.offsets, options().bos_id);
  }
  const auto x = represent(input, pairs, context);
  const auto aligned = nn::align_pairs(run(*attend_, x, context, kAttendSite), x, pairs);
  const auto compared = run(*compare_, at::cat({x, aligned}, 1), context, kCompareSite);  // (N, H)
  return at::cat({compared * decomposable_rows_of(pairs, &nn::TextPair::first, compared),
                  compared * decomposable_rows_of(pairs, &nn::TextPair::second, compared)},
                 1);
}

at::Tensor DecomposableAttention::class_logits(const at::Tensor& hidden,
                                               const nn::ForwardContext& context) {
  const auto sums = nn::segment_sum(hidden, context.layout).to(hidden.scalar_type());  // (B, 2 H)
  return output_->forward(run(*aggregate_, sums, context, kAggregateSite));
}

}  // namespace weft::models
