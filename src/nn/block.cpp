#include "nn/block.h"

#include "kernels/norm.h"
#include "nn/attention/attention_recorder.h"
#include "nn/attention/cross_attention.h"
#include "nn/drop_path.h"
#include "nn/dropout_sites.h"

namespace weft::nn {

namespace {

/// The sub-layers of every Transformer; the subclasses differ in the placement of the norms.
class TransformerBlock : public Block {
 public:
  explicit TransformerBlock(const BlockOptions& options) : options_(options) {}

 protected:
  void register_attention() {
    attention_ = register_module("attention", make_attention(options_.attention));
  }
  bool is_decoder() const { return options_.has_cross_attention; }
  void register_cross_attention() {
    cross_attention_ = register_module("cross_attention",
                                       std::make_shared<CrossAttention>(options_.cross_attention));
  }
  void register_cross_attention_norm() {
    cross_attention_norm_ = register_module("cross_attention_norm", make_norm(options_.norm));
  }
  void register_feed_forward() {
    feed_forward_ = register_module("feed_forward", make_feed_forward(options_.feed_forward));
  }
  void register_attention_norm() {
    attention_norm_ = register_module("attention_norm", make_norm(options_.norm));
  }
  void register_feed_forward_norm() {
    feed_forward_norm_ = register_module("feed_forward_norm", make_norm(options_.norm));
  }

  /// Attention branch, before dropout; its weights are recorded if requested.
  at::Tensor attend(const at::Tensor& x, const ForwardContext& context) const {
    record_attention(x, context);
    return attention_->forward(x, context);
  }
  at::Tensor attend(const at::Tensor& x,
                    const ForwardContext& context,
                    const RowSelection& selection) const {
    record_attention(x, context);
    return attention_->forward_selected(x, context, selection);
  }

  Residual residual(const at::Tensor& stream,
                    const at::Tensor& branch,
                    BlockDropoutSite dropout_site,
                    const ForwardContext& context) const {
    const bool is_attention = dropout_site != BlockDropoutSite::kFeedForwardOutput;
    const auto drop_path_site = is_attention ? BlockDropoutSite::kAttentionDropPath
                                             : BlockDropoutSite::kFeedForwardDropPath;
    return {.stream = stream,
            .branch = drop_path(branch, options_.drop_path_rate,
                                site_id(options_.layer, drop_path_site), context),
            .dropout = context.rate(is_attention
                                        ? options_.dropout
                                        : options_.feed_forward_dropout.value_or(options_.dropout)),
            .rng_key = context.rng_key(site_id(options_.layer, dropout_site))};
  }

  static at::Tensor add_residual(const Residual& residual) {
    return kernels::add_dropout(residual.stream, residual.branch, residual.dropout,
                                residual.rng_key);
  }

  std::shared_ptr<Attention> attention_;
  std::shared_ptr<Norm> attention_norm_;
  std::shared_ptr<CrossAttention> cross_attention_;  // with its norm only in encoder-decoders
  std::shared_ptr<Norm> cross_attention_norm_;
  std::shared_ptr<FeedForward> feed_forward_;
  std::shared_ptr<Norm> feed_forward_norm_;

 private:
  void record_attention(const at::Tensor& x, const ForwardContext& context) const {
    if (context.attention_recorder != nullptr &&
        context.attention_recorder->records(options_.layer)) {
      context.attention_recorder->add(options_.layer, attention_->weights(x, context));
    }
  }

  BlockOptions options_;
};

class PostNormBlock : public TransformerBlock {
 public:
  explicit PostNormBlock(const BlockOptions& options) : TransformerBlock(options) {
    register_attention();
    register_attention_norm();
    if (is_decoder()) {
      register_cross_attention();
      register_cross_attention_norm();
    }
    register_feed_forward();
    register_feed_forward_norm();
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    return after_attention(x, attend(x, context), context);
  }

  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override {
    return after_attention(selection.select(x), attend(x, context, selection),
                           selection.select(context));
  }

 private:
  /// The rest of the block after attention, row by row.
  at::Tensor after_attention(const at::Tensor& x,
                             const at::Tensor& branch,
                             const ForwardContext& context) const {
    auto stream =
        attention_norm_->add_norm(residual(x, branch, BlockDropoutSite::kAttentionOutput, context));
    if (cross_attention_) {
      stream = cross_attention_norm_->add_norm(
          residual(stream, cross_attention_->forward(stream, context),
                   BlockDropoutSite::kCrossAttentionOutput, context));
    }
    return feed_forward_norm_->add_norm(residual(stream, feed_forward_->forward(stream, context),
                                                 BlockDropoutSite::kFeedForwardOutput, context));
  }
};

class PreNormBlock : public TransformerBlock {
 public:
  explicit PreNormBlock(const BlockOptions& options) : TransformerBlock(options) {
    if (options.has_attention_norm) {
      register_attention_norm();
    }
    register_attention();
    if (is_decoder()) {
      register_cross_attention_norm();
      register_cross_attention();
    }
    register_feed_forward_norm();
    register_feed_forward();
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto branch = attend(normalize(x), context);  // normalised input is freed here
    return after_attention(x, branch, context);
  }

  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override {
    const auto branch = attend(normalize(x), context, selection);
    return after_attention(selection.select(x), branch, selection.select(context));
  }

 private:
  at::Tensor normalize(const at::Tensor& x) const {
    return attention_norm_ ? attention_norm_->forward(x) : x;
  }

  /// The rest of the block after attention, row by row.
  at::Tensor after_attention(const at::Tensor& x,
                             const at::Tensor& branch,
                             const ForwardContext& context) const {
    auto stream = add_residual(residual(x, branch, BlockDropoutSite::kAttentionOutput, context));
    if (cross_attention_) {
      const auto attended =
          cross_attention_->forward(cross_attention_norm_->forward(stream), context);
      stream = add_residual(
          residual(stream, attended, BlockDropoutSite::kCrossAttentionOutput, context));
    }
    const auto transformed = feed_forward_->forward(feed_forward_norm_->forward(stream), context);
    return add_residual(
        residual(stream, transformed, BlockDropoutSite::kFeedForwardOutput, context));
  }
};

/// Parallel attention and feed-forward, each with its own norm (GPT-NeoX, arXiv:2204.06745, section
/// 2.1.2).
class ParallelBlock : public TransformerBlock {
 public:
  explicit ParallelBlock(const BlockOptions& options) : TransformerBlock(options) {
    TORCH_CHECK(!options.has_cross_attention, "a parallel block has no cross attention");
    register_attention_norm();
    register_attention();
    register_feed_forward_norm();
    register_feed_forward();
  }

  at::Tensor forward(const at::Tensor& x, const ForwardContext& context) override {
    const auto branch = attend(attention_norm_->forward(x), context);
    return after_attention(x, branch, context);
  }

  at::Tensor forward_selected(const at::Tensor& x,
                              const ForwardContext& context,
                              const RowSelection& selection) override {
    const auto branch = attend(attention_norm_->forward(x), context, selection);
    return after_attention(selection.select(x), branch, selection.select(context));
  }

 private:
  at::Tensor after_attention(const at::Tensor& x,
                             const at::Tensor& branch,
                             const ForwardContext& context) const {
    const auto transformed = feed_forward_->forward(feed_forward_norm_->forward(x), context);
    const auto stream =
        add_residual(residual(x, branch, BlockDropoutSite::kAttentionOutput, context));
    return add_residual(
        residual(stream, transformed, BlockDropoutSite::kFeedForwardOutput, context));
  }
};

}  // namespace

std::shared_ptr<Block> make_block(const BlockOptions& options) {
  if (options.is_parallel) {
    TORCH_CHECK(options.norm_placement == NormPlacement::kPre, "a parallel block uses pre-norm");
    return std::make_shared<ParallelBlock>(options);
  }
  switch (options.norm_placement) {
    case NormPlacement::kPost:
      return std::make_shared<PostNormBlock>(options);
    case NormPlacement::kPre:
      return std::make_shared<PreNormBlock>(options);
  }
  TORCH_CHECK(false, "unknown norm placement");
}

}  // namespace weft::nn
