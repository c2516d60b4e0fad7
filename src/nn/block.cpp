#include "nn/block.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/string_util.h"
#include "config/section.h"
#include "kernels/dropout.h"
#include "kernels/norm.h"
#include "nn/attention/attention_recorder.h"
#include "nn/attention/cross_attention.h"
#include "nn/depth/drop_path.h"

namespace weft::nn {

namespace {

std::shared_ptr<Sublayer> make_sublayer(const SublayerDefinition& kind,
                                        const BlockOptions& options) {
  if (kind.make) {
    return kind.make(options);
  }
  const auto found = options.make_sublayer.find(std::string(kind.name));
  TORCH_CHECK(found != options.make_sublayer.end(), "BlockOptions::make_sublayer lacks '",
              kind.name, "' of the order '", options.order, "'");
  return found->second(options);
}

/// Residual connections around the sub-layers in their order.
class SublayerBlock : public Block {
 public:
  explicit SublayerBlock(BlockOptions options)
      : options_(std::move(options)), width_(options_.input_width()) {
    for (std::size_t i = 0; i < options_.order.size(); ++i) {
      add_sublayer(i);
    }
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    return run(0, steps_.size(), x, context);
  }

  ForwardContext context_after(const ForwardContext& context) const override {
    return context_before(steps_.size(), context);
  }

  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override {
    const auto last = last_mixing_sublayer(*this);
    const auto stream = run(0, last, x, context);
    const auto own_context = context_before(last, context);
    const auto selected_context = selection.select(context_before(last + 1, context));
    const auto& step = steps_[last];
    const auto branch = selected_branch_of(step, stream, own_context, selection, selected_context);
    return run(last + 1, steps_.size(),
               add_branch(step, selection.select(stream), branch, selected_context),
               selected_context);
  }

  int64_t output_dim() const override { return width_; }

  at::Tensor branch(std::size_t index,
                    const at::Tensor& x,
                    const ForwardContext& context) const override {
    const auto& step = steps_[index];
    return kernels::dropout(branch_of(step, x, context), context.rate(step.dropout),
                            context.rng_key(step.output_site));
  }
  std::size_t sublayers() const override { return steps_.size(); }
  bool mixes_tokens(std::size_t index) const override {
    return steps_[index].sublayer->mixes_tokens();
  }

 protected:
  struct Step {
    std::shared_ptr<Sublayer> sublayer;
    std::shared_ptr<Sublayer> module;      // the same, or that of the layer it is shared with
    std::shared_ptr<Norm> norm;            // may be null
    std::shared_ptr<Norm> output_norm;     // of sandwich norms
    std::shared_ptr<ResidualScale> scale;  // may be null
    ComputationGate gate{nullptr};         // may be null
    bool replaces_stream = false;
    bool shortens_sequences = false;
    double dropout = 0;  // on the output
    uint32_t output_site = 0;
    double drop_path_rate = 0;
    uint32_t drop_path_site = 0;
  };

  bool has_norm_after_sum() const { return options_.norm_placement == NormPlacement::kPost; }

  at::Tensor normalized(const Step& step, const at::Tensor& x) const {
    return !has_norm_after_sum() && step.norm ? step.norm->forward(x) : x;
  }

  /// What is added to the stream, before dropout.
  at::Tensor branch_of(const Step& step, const at::Tensor& x, const ForwardContext& context) const {
    const auto kept = sequences_not_dropped(step.drop_path_rate, step.drop_path_site, context);
    if (kept && kept->rows.size(0) == 0 && !step.sublayer->must_run()) {
      return at::zeros_like(x);
    }
    if (kept) {
      const auto input = normalized(step, kept->select(x));
      const auto branch = scaled(step, step.sublayer->forward(input, kept->context));
      return kept->scatter(branch / (1 - step.drop_path_rate), x.size(0));
    }
    const auto input = normalized(step, x);
    record_attention(step, input, context);
    if (step.gate) {
      return gated(step, input, context, nullptr);
    }
    return drop_path(scaled(step, step.sublayer->forward(input, context)), step.drop_path_rate,
                     step.drop_path_site, context);
  }

  at::Tensor selected_branch_of(const Step& step,
                                const at::Tensor& x,
                                const ForwardContext& context,
                                const RowSelection& selection,
                                const ForwardContext& selected_context) const {
    const auto input = normalized(step, x);
    record_attention(step, input, context);
    if (step.gate) {
      return gated(step, input, context, &selection);
    }
    return drop_path(scaled(step, step.sublayer->forward_selected(input, context, selection)),
                     step.drop_path_rate, step.drop_path_site, selected_context);
  }

  static at::Tensor gated(const Step& step,
                          const at::Tensor& x,
                          const ForwardContext& context,
                          const RowSelection* selection) {
    return gated_forward(*step.gate, *step.sublayer, x, context, selection,
                         [&](const at::Tensor& branch) { return scaled(step, branch); });
  }

  static at::Tensor scaled(const Step& step, const at::Tensor& branch) {
    const auto normed = step.output_norm ? step.output_norm->forward(branch) : branch;
    return step.scale ? step.scale->forward(normed) : normed;
  }

  /// The residual sum, and its norm in post-norm blocks.
  at::Tensor add_branch(const Step& step,
                        const at::Tensor& stream,
                        const at::Tensor& branch,
                        const ForwardContext& context) const {
    if (step.replaces_stream) {
      const auto output =
          kernels::dropout(branch, context.rate(step.dropout), context.rng_key(step.output_site));
      return has_norm_after_sum() && step.norm ? step.norm->forward(output) : output;
    }
    const Residual residual{.stream = stream,
                            .branch = branch,
                            .dropout = context.rate(step.dropout),
                            .rng_key = context.rng_key(step.output_site)};
    return has_norm_after_sum() ? step.norm->add_norm(residual)
                                : kernels::add_dropout(residual.stream, residual.branch,
                                                       residual.dropout, residual.rng_key);
  }

  void record_attention(const Step& step,
                        const at::Tensor& x,
                        const ForwardContext& context) const {
    auto* const recorder = context.attention_recorder;
    const bool rows_are_tokens = context.stride == 1;
    if (recorder != nullptr && rows_are_tokens &&
        recorder->records(context.depth(options_.layer))) {
      const auto own = step.module == step.sublayer ? context : shifted(context, layer_shift());
      if (auto* const attention = dynamic_cast<Attention*>(step.module.get())) {
        recorder->add(context.depth(options_.layer), attention->weights(x, own));
      } else if (auto* const cross = dynamic_cast<CrossAttention*>(step.module.get())) {
        recorder->add_cross(context.depth(options_.layer), cross->weights(x, own));
      }
    }
  }

  /// Runs the sub-layers [first, last).
  at::Tensor run(std::size_t first,
                 std::size_t last,
                 at::Tensor stream,
                 const ForwardContext& given) const {
    ForwardContext shortened;
    const auto* context = &given;
    for (std::size_t i = first; i < last; ++i) {
      stream = add_branch(steps_[i], stream, branch_of(steps_[i], stream, *context), *context);
      if (steps_[i].shortens_sequences) {
        shortened = steps_[i].sublayer->context_after(*context);
        context = &shortened;
      }
    }
    return stream;
  }

  /// The context of the rows that sub-layer `index` reads.
  ForwardContext context_before(std::size_t index, ForwardContext context) const {
    for (std::size_t i = 0; i < index; ++i) {
      if (steps_[i].shortens_sequences) {
        context = steps_[i].sublayer->context_after(context);
      }
    }
    return context;
  }

  const std::vector<Step>& steps() const { return steps_; }

 private:
  /// From the layer that it shares sub-layers with.
  int64_t layer_shift() const { return options_.layer - options_.shared.layer; }

  void add_sublayer(std::size_t index) {
    const char letter = options_.order[index];
    const auto* const kind = find_sublayer(letter);
    TORCH_CHECK(kind != nullptr, "no sub-layer '", letter, "'");
    const auto begin = options_.order.begin();
    const auto repetition =
        std::count(begin, begin + static_cast<std::ptrdiff_t>(index), letter);  // 0: the first
    const auto name = numbered(kind->name, static_cast<std::size_t>(repetition));
    const auto sites = kind->sites.value_or(SublayerSites{});
    auto own = options_;
    own.input_dim = width_;
    own.layer += repetition * kRepeatedSublayer + (kind->sites ? 0 : letter * kOwnSites);
    const auto place = options_.norm_placement;
    const bool has_norm = !kind->replaces_stream && place != NormPlacement::kNone &&
                          (index > 0 || options_.has_first_norm || place == NormPlacement::kPost);
    const bool has_output_norm = has_norm && place == NormPlacement::kSandwich;
    const bool is_shared = options_.shared.has(*kind);
    const auto made = is_shared ? options_.shared.at(name) : make_sublayer(*kind, own);
    Step step{
        .sublayer = is_shared ? run_in_other_layer(made, layer_shift()) : made,
        .module = made,
        .norm = nullptr,  // depends on the width of the output
        .output_norm = nullptr,
        .scale = options_.make_residual_scale && !kind->replaces_stream
                     ? options_.make_residual_scale({.dim = options_.dim(), .sublayer = kind->name})
                     : nullptr,
        .shortens_sequences = kind->shortens_sequences,
        .dropout = kind->replaces_stream             ? 0
                   : kind->output_dropout != nullptr ? kind->output_dropout(options_)
                                                     : options_.dropout,
        .output_site = site_id(own.layer, sites.output),
        .drop_path_rate = kind->replaces_stream ? 0 : options_.drop_path_rate,
        .drop_path_site = site_id(own.layer, sites.drop_path)};
    step.replaces_stream = kind->replaces_stream || (step.scale && !step.scale->keeps_input());
    const auto input_width = width_;
    width_ = output_width(*kind, step);
    step.norm = has_norm ? norm_of(has_norm_after_sum() ? width_ : input_width) : nullptr;
    step.output_norm = has_output_norm ? norm_of(width_) : nullptr;
    if (options_.gate && !step.replaces_stream) {
      add_gates(step, own.layer);
    }
    // In order of computation.
    const auto register_if_made = [&](const std::string& part, const auto& module) {
      if (module != nullptr) {
        register_module(name + part, module);
      }
    };
    if (!has_norm_after_sum()) {
      register_if_made("_norm", step.norm);
    }
    register_module(name, step.module);
    register_if_made("_output_norm", step.output_norm);
    register_if_made("_scale", step.scale);
    if (step.gate) {
      register_module(name + "_gate", step.gate);
    }
    if (has_norm_after_sum()) {
      register_if_made("_norm", step.norm);
    }
    steps_.push_back(std::move(step));
  }

  void add_gates(Step& step, int64_t layer) const {
    TORCH_CHECK(step.drop_path_rate == 0, "gated sub-layers have no drop path");
    const auto maker = [&](GateSite site) {
      return [this, layer, site](int64_t dim) {
        return ComputationGate(dim, *options_.gate, site_id(layer + kGateSites, site));
      };
    };
    step.gate = maker(GateSite::kOutput)(options_.dim());
    step.sublayer->gate_keys(maker(GateSite::kKeys));
  }

  std::shared_ptr<Norm> norm_of(int64_t width) const {
    auto options = options_.norm;
    options.dim = width;
    return make_norm(options);
  }

  /// Of the stream after a sub-layer that reads one of width_.
  int64_t output_width(const SublayerDefinition& kind, const Step& step) const {
    const auto dim = options_.dim();
    const auto refuse = [&](const std::string& reason) {
      throw config::Error(str_cat("model.block: sub-layer `", kind.letter, "` (", kind.name,
                                  ") of layer ", options_.layer, " ", reason));
    };
    if (width_ != dim && !kind.reads_any_width) {
      refuse(str_cat("reads ", width_, " features of the sub-layer before it, must be dim ", dim));
    }
    const auto output = step.sublayer->output_dim().value_or(dim);
    if (!step.replaces_stream && (width_ != dim || output != dim)) {
      refuse(str_cat("has ", width_, " features before and ", output, " after it, must be dim ",
                     dim, " for a residual connection"));
    }
    return output;
  }

  BlockOptions options_;
  int64_t width_;  // of the stream after the sub-layers
  std::vector<Step> steps_;
};

/// All sub-layers read the input of the block, each with its own norm (GPT-NeoX, arXiv:2204.06745,
/// section 2.1.2).
class ParallelBlock : public SublayerBlock {
 public:
  explicit ParallelBlock(const BlockOptions& options) : SublayerBlock(options) {
    TORCH_CHECK(options.norm_placement != NormPlacement::kPost &&
                    (!options.make_residual_scale || keeps_input(options.make_residual_scale)),
                "a parallel block needs norm placement pre, and residual connections");
    TORCH_CHECK(!nn::shortens_sequences(options.order),
                "the sub-layers of a parallel block must all return as many rows");
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    std::vector<at::Tensor> branches;
    for (const auto& step : steps()) {
      branches.push_back(branch_of(step, x, context));
    }
    return add_branches(x, branches, context);
  }

  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override {
    std::vector<at::Tensor> branches;
    const auto selected = selection.select(x);
    const auto selected_context = selection.select(context);
    for (const auto& step : steps()) {
      branches.push_back(step.sublayer->mixes_tokens()
                             ? selected_branch_of(step, x, context, selection, selected_context)
                             : branch_of(step, selected, selected_context));
    }
    return add_branches(selected, branches, selected_context);
  }

 private:
  at::Tensor add_branches(at::Tensor stream,
                          const std::vector<at::Tensor>& branches,
                          const ForwardContext& context) const {
    for (std::size_t i = 0; i < branches.size(); ++i) {
      stream = add_branch(steps()[i], stream, branches[i], context);
    }
    return stream;
  }
};

}  // namespace

std::size_t last_mixing_sublayer(const Block& block) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < block.sublayers(); ++i) {
    last = block.mixes_tokens(i) ? i : last;
  }
  return last;
}

std::shared_ptr<Block> make_block(const BlockOptions& options) {
  if (options.is_parallel) {
    return std::make_shared<ParallelBlock>(options);
  }
  return std::make_shared<SublayerBlock>(options);
}

}  // namespace weft::nn
