#include "nn/feed_forward/mixture_of_experts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>

#include "base/random.h"
#include "base/string_util.h"
#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/random_bits.h"
#include "kernels/softmax.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"
#include "nn/auxiliary_losses.h"
#include "nn/feed_forward/expert_exchange.h"
#include "nn/linear.h"

namespace weft::nn {

namespace {

/// The tokens of each expert, and where the output for each choice of a token is.
struct Routes {
  std::vector<int64_t> choices;  // token k + choice, of the experts one after another, (M)
  std::vector<int64_t> counts;   // tokens of each expert, (E)
  std::vector<int64_t> outputs;  // of each choice, (N k), its row in `choices`; M: dropped
};

/// The two projections of an expert.
class FeedForwardExpert : public Expert {
 public:
  FeedForwardExpert(const FeedForwardOptions& options, const MixtureOptions& own, int64_t index)
      : Expert(index, own.experts, own.top * options.dim) {
    const auto inner = (options.is_gated ? 2 : 1) * options.width;
    up = register_module("up", Linear(LinearOptions{options.dim, inner, options.has_bias}));
    down = register_module("down",
                           Linear(LinearOptions{options.width, options.dim, options.has_bias}));
  }

  Linear up{nullptr};
  Linear down{nullptr};
};

/// A feed-forward for each expert; a router sends each token to `top` of them and weights their
/// outputs (arXiv:1701.06538, section 2; arXiv:2401.04088, section 2.1). No token is dropped,
/// unless there is a capacity.
class MixtureOfExperts : public FeedForward {
 public:
  MixtureOfExperts(const FeedForwardOptions& options, const MixtureOptions& own)
      : options_(options), own_(own) {
    router_ = register_module("router", Linear(LinearOptions{options.dim, own.experts, false}));
    for (int64_t e = 0; e < own.experts; ++e) {
      experts_.push_back(register_module(str_cat("expert_", e),
                                         std::make_shared<FeedForwardExpert>(options, own, e)));
    }
  }

  /// Its losses are sums over all tokens, and a capacity is shared by those of a text.
  bool mixes_tokens() const override {
    return own_.balance_loss > 0 || own_.z_loss > 0 || own_.capacity || own_.expert_capacity;
  }

  /// With expert parallelism other ranks wait for this one.
  bool must_run() const override { return exchange() != nullptr; }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    if (x.size(0) == 0 && !must_run()) {
      return x;
    }
    const auto logits = router_->forward(with_jitter(x, context), context);  // (N, E)
    const auto scores = logits.to(kernels::accumulate_type(logits));
    const auto probabilities = kernels::softmax(scores);
    auto [weights, choices] = probabilities.topk(own_.top, 1);  // (N, k)
    if (own_.normalizes) {
      weights = weights / weights.sum(1, /*keepdim=*/true);
    }
    const auto chosen = choices.cpu().contiguous();
    add_losses(scores, probabilities, chosen, context);
    const auto routes = routes_of(chosen, context);
    const auto outputs = outputs_of(x, routes, context);
    const auto by_choice =
        kernels::gather_rows(outputs, kernels::to_device(routes.outputs, x.device()))
            .view({x.size(0), own_.top, x.size(1)});
    return (by_choice * weights.to(x.scalar_type()).unsqueeze(2)).sum(1);
  }

 private:
  ExpertExchange* exchange() const { return ExpertExchange::of(*experts_.front()); }

  /// The outputs of the experts for their tokens, one after another, and a row of zeros, (M + 1,
  /// D).
  at::Tensor outputs_of(const at::Tensor& x,
                        const Routes& routes,
                        const ForwardContext& context) const {
    const auto choices = kernels::to_device(routes.choices, x.device());
    const auto rows = kernels::gather_rows(x, choices.div(own_.top, "floor"));
    const auto kept = dropout_of(choices, x, context);
    auto* const ranks = exchange();
    auto outputs = ranks == nullptr
                       ? run_experts(0, rows, routes.counts, kept, context)
                       : std::vector{run_on_ranks(*ranks, rows, routes.counts, kept, context)};
    outputs.push_back(at::zeros({1, x.size(1)}, x.options()));
    return at::cat(outputs);
  }

  /// Sends the rows to the ranks that have their experts, and runs the experts of this rank.
  at::Tensor run_on_ranks(ExpertExchange& exchange,
                          const at::Tensor& rows,
                          const std::vector<int64_t>& counts,
                          const at::Tensor& kept,
                          const ForwardContext& context) const {
    const ExpertDispatch dispatch(exchange, counts);
    at::Tensor own_kept;
    if (kept.defined()) {  // 0 or one other value
      const auto scale = kernels::dropout_rule(options_.dropout, {}).scale;
      own_kept = dispatch.send(kept.ne(0).to(at::kByte)).to(kept.scalar_type()) * scale;
    }
    const auto own_rows = dispatch.send(rows);
    auto outputs = run_experts(dispatch.first(), own_rows, dispatch.counts(), own_kept, context);
    outputs.push_back(own_rows.narrow(0, 0, 0));  // keeps the graph together if there are none
    return dispatch.send_back(at::cat(outputs));
  }

  /// The outputs of each expert that has tokens. `rows`: `counts` of each expert from `first` on.
  /// `kept`: factors of the activations, or undefined.
  std::vector<at::Tensor> run_experts(int64_t first,
                                      const at::Tensor& rows,
                                      const std::vector<int64_t>& counts,
                                      const at::Tensor& kept,
                                      const ForwardContext& context) const {
    std::vector<at::Tensor> outputs;
    int64_t begin = 0;
    for (std::size_t e = 0; e < counts.size(); ++e) {
      if (counts[e] > 0) {
        const auto part = [&](const at::Tensor& all) { return all.narrow(0, begin, counts[e]); };
        outputs.push_back(run_expert(*experts_[static_cast<std::size_t>(first) + e], part(rows),
                                     kept.defined() ? part(kept) : at::Tensor(), context));
      }
      begin += counts[e];
    }
    return outputs;
  }

  at::Tensor run_expert(FeedForwardExpert& expert,
                        const at::Tensor& x,
                        const at::Tensor& kept,
                        const ForwardContext& context) const {
    const auto inner = expert.up->forward(x, context);
    if (!kept.defined()) {
      return expert.down->forward_activated(inner, options_.activation, options_.is_gated, context);
    }
    const auto hidden = kernels::activate(inner, options_.activation, options_.is_gated);
    return expert.down->forward(hidden * kept, context);
  }

  /// Dropout of the activations, (M, F): of a choice, wherever it is in the order. Undefined: none.
  at::Tensor dropout_of(const at::Tensor& choices,
                        const at::Tensor& x,
                        const ForwardContext& context) const {
    const auto rate = context.rate(options_.dropout);
    if (rate == 0) {
      return {};
    }
    auto key = context.rng_key(site_id(options_.layer, BlockDropoutSite::kFeedForward));
    key.first_row *= own_.top;
    const auto ones = at::ones({x.size(0) * own_.top, options_.width}, x.options());
    return kernels::gather_rows(kernels::dropout(ones, rate, key), choices);
  }

  /// Tokens by expert; within an expert all first choices in their order, then all second ones. A
  /// sequence loses the choices beyond the capacity of an expert (arXiv:2006.16668, algorithm 1).
  Routes routes_of(const at::Tensor& chosen, const ForwardContext& context) const {
    const auto* const experts = chosen.data_ptr<int64_t>();
    const auto experts_count = static_cast<std::size_t>(own_.experts);
    Routes routes;
    routes.counts.assign(experts_count, 0);
    std::vector<std::vector<int64_t>> choices(experts_count);  // token * k + choice
    const auto& layout = context.layout;
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      const auto first = layout.offsets[static_cast<std::size_t>(b)];
      const auto most = capacity_of(layout.length(b), context);
      std::vector<int64_t> used(experts_count, 0);
      for (int64_t choice = 0; choice < own_.top; ++choice) {
        for (auto token = first; token < first + layout.length(b); ++token) {
          const auto slot = token * own_.top + choice;
          const auto expert = static_cast<std::size_t>(experts[slot]);
          if (used[expert] < most) {
            ++used[expert];
            choices[expert].push_back(slot);
          }
        }
      }
    }
    std::size_t count = 0;
    for (const auto& own : choices) {
      count += own.size();
    }
    routes.outputs.assign(static_cast<std::size_t>(chosen.numel()), static_cast<int64_t>(count));
    routes.choices.reserve(count);
    for (std::size_t e = 0; e < experts_count; ++e) {
      routes.counts[e] = std::ssize(choices[e]);
      for (const auto slot : choices[e]) {
        routes.outputs[static_cast<std::size_t>(slot)] = std::ssize(routes.choices);
        routes.choices.push_back(slot);
      }
    }
    return routes;
  }

  int64_t capacity_of(int64_t length, const ForwardContext& context) const {
    const auto most = own_.expert_capacity.value_or(length);
    if (!own_.capacity || !context.is_training) {
      return most;
    }
    const auto share = static_cast<double>(own_.top * length) / static_cast<double>(own_.experts);
    return std::min(most, std::max<int64_t>(1, static_cast<int64_t>(*own_.capacity * share)));
  }

  /// x times uniform numbers from 1 - jitter to 1 + jitter (arXiv:2101.03961, appendix C).
  at::Tensor with_jitter(const at::Tensor& x, const ForwardContext& context) const {
    if (!context.is_training || own_.jitter == 0) {
      return x;
    }
    auto noise = at::empty({x.size(0), x.size(1)}, at::kFloat);
    auto* values = noise.data_ptr<float>();
    const auto site = site_id(options_.layer, BlockDropoutSite::kFeedForward);
    for (int64_t i = 0; i < x.size(0); ++i) {
      Random random(hash_combine(context.seed, site), RandomPurpose::kFeatures, context.step,
                    static_cast<uint64_t>(context.first_row + i));
      for (int64_t d = 0; d < x.size(1); ++d) {
        *values++ = static_cast<float>(1 + own_.jitter * (2 * random.uniform() - 1));
      }
    }
    return x * noise.to(x.options());
  }

  void add_losses(const at::Tensor& scores,
                  const at::Tensor& probabilities,
                  const at::Tensor& chosen,
                  const ForwardContext& context) const {
    if (context.auxiliary_losses == nullptr) {
      return;
    }
    auto& losses = *context.auxiliary_losses;
    const auto counts = choices_by_sequence(chosen, context.layout);
    if (own_.balance_loss > 0) {
      losses.add({.name = "load_balancing",
                  .sum = balance_loss(probabilities, counts, context.layout),
                  .unit = LossUnit::kSequences,
                  .weight = own_.balance_loss});
    }
    if (own_.z_loss > 0) {
      losses.add({.name = "router_z",
                  .sum = kernels::deterministic_sum(scores.logsumexp(1).square()),
                  .weight = own_.z_loss});
    }
    const auto shares = (counts.sum(0) / own_.top).to(scores.device()).unbind(0);
    for (std::size_t e = 0; e < shares.size(); ++e) {
      losses.add({.name = str_cat("expert_", e, "_share"), .sum = shares[e], .weight = 0});
    }
  }

  /// How often the tokens of each sequence chose each expert, (B, E) fp32 on the host.
  at::Tensor choices_by_sequence(const at::Tensor& chosen, const kernels::Layout& layout) const {
    auto counts = at::zeros({layout.sequences(), own_.experts}, at::kFloat);
    const auto* expert = chosen.data_ptr<int64_t>();
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      auto* const own = counts.data_ptr<float>() + b * own_.experts;
      for (int64_t i = 0; i < layout.length(b) * own_.top; ++i) {
        ++own[*expert++];
      }
    }
    return counts;
  }

  /// E sum_e f_e P_e of each sequence (arXiv:2101.03961, equation 4): f_e is the share of its
  /// choices, P_e its mean probability; 1 if the router is uniform. Over sequences
  /// (arXiv:2412.19437, equation 17), so that it does not depend on how a step is split.
  at::Tensor balance_loss(const at::Tensor& probabilities,
                          const at::Tensor& counts,
                          const kernels::Layout& layout) const {
    const auto lengths = layout.device_lengths();
    const auto scale = static_cast<double>(own_.experts) / static_cast<double>(own_.top) /
                       lengths.clamp_min(1).square().to(probabilities.scalar_type());  // (B)
    const auto factors = counts.to(probabilities.options()) * scale.unsqueeze(1);      // E f_e / l
    return kernels::deterministic_sum(
        probabilities *
        factors.repeat_interleave(lengths, 0, /*output_size=*/probabilities.size(0)));
  }

  FeedForwardOptions options_;
  MixtureOptions own_;
  Linear router_{nullptr};
  std::vector<std::shared_ptr<FeedForwardExpert>> experts_;
};

}  // namespace

MixtureOptions read_mixture_options(config::Section& section, const MixtureOptions& defaults) {
  auto own = defaults;
  section.read("experts", own.experts,
               {.help = "Feed-forwards of a layer, each with `width` features.",
                .range = config::between(1, kMostExperts)});
  section.read(
      "top", own.top,
      {.help = "Experts that each token is sent to.", .range = config::between(1, kMostExperts)});
  section.read("normalize", own.normalizes,
               {.help = "Scales the weights of a token's experts so that they sum to 1."});
  section.read(
      "balance_loss", own.balance_loss,
      {.help = "Weight of the load balancing loss of each layer, which is 1 if all experts "
               "get as many tokens.",
       .range = config::between(0, 1e6)});
  section.read(
      "z_loss", own.z_loss,
      {.help = "Weight of the router z-loss, the squared logarithm of the sum of the exponentials.",
       .range = config::between(0, 1e6)});
  section.read("jitter", own.jitter,
               {.help = "Noise of the router's input in training: factors from 1 - jitter to 1 + "
                        "jitter.",
                .range = config::half_open(0, 1)});
  section.read("capacity", own.capacity,
               {.help = "Most tokens of a text that an expert computes in training, relative to "
                        "equal shares; the others skip it. null: all tokens.",
                .range = {.min = 0, .max = 1e6, .is_min_exclusive = true}});
  section.read("expert_capacity", own.expert_capacity,
               {.help = "Most tokens of a text that an expert computes, also outside training; "
                        "generation counts each step by itself. null: all tokens.",
                .unit = "tokens",
                .range = config::between(1, 1 << 24)});
  if (own.top > own.experts) {
    section.fail("top",
                 str_cat("found ", own.top, ", allowed are 1 to the ", own.experts, " experts"));
  }
  return own;
}

std::shared_ptr<FeedForward> make_mixture_of_experts(const FeedForwardOptions& options,
                                                     const MixtureOptions& own) {
  return std::make_shared<MixtureOfExperts>(options, own);
}

FeedForwardMaker read_mixture_of_experts(config::Section& section) {
  return [own = read_mixture_options(section)](const FeedForwardOptions& options) {
    return make_mixture_of_experts(options, own);
  };
}

}  // namespace weft::nn
