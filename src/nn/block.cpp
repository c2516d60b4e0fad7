#include "nn/block.h"

#include "kernels/norm.h"
#include "nn/attention/attention_trace.h"
#include "nn/attention/cross_attention.h"
#include "nn/path_dropout.h"
#include "nn/sites.h"

namespace weft::nn {

namespace {

/// The sub-layers of every Transformer; the subclasses differ in where the norms stand.
class TransformerBlock : public Block {
 public:
  explicit TransformerBlock(const BlockOptions& options) : options_(options) {}

 protected:
  void register_attention() {
    attention_ = register_module("attention", make_attention(options_.attention));
  }
  bool is_decoder() const { return options_.has_cross_attention; }
  void register_cross_attention() {
    cross_attention_ = make_part<CrossAttention>("cross_attention", options_.cross_attention);
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

  /// What attention adds to the stream, before dropout; its weights are shown to who wants to see
  /// them.
  at::Tensor attended(const at::Tensor& x, const Pass& pass) const {
    show(x, pass);
    return attention_->forward(x, pass);
  }
  at::Tensor attended(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen) const {
    show(x, pass);
    return attention_->rows(x, pass, chosen);
  }

  Residual residual(const at::Tensor& stream,
                    const at::Tensor& branch,
                    BlockSite place,
                    const Pass& pass) const {
    const bool is_attention = place != BlockSite::kFeedForwardOutput;
    const auto path = is_attention ? BlockSite::kAttentionPath : BlockSite::kFeedForwardPath;
    return {.stream = stream,
            .branch = path_dropout(branch, options_.path_dropout, site(options_.layer, path), pass),
            .dropout =
                pass.rate(is_attention ? options_.dropout
                                       : options_.feed_forward_dropout.value_or(options_.dropout)),
            .chance = pass.chance(site(options_.layer, place))};
  }

  static at::Tensor added(const Residual& residual) {
    return kernels::add_dropout(residual.stream, residual.branch, residual.dropout,
                                residual.chance);
  }

  std::shared_ptr<Attention> attention_;
  std::shared_ptr<Norm> attention_norm_;
  std::shared_ptr<CrossAttention> cross_attention_;  // this and its norm: decoders of encoders only
  std::shared_ptr<Norm> cross_attention_norm_;
  std::shared_ptr<FeedForward> feed_forward_;
  std::shared_ptr<Norm> feed_forward_norm_;

 private:
  void show(const at::Tensor& x, const Pass& pass) const {
    if (pass.trace != nullptr && pass.trace->wants(options_.layer)) {
      pass.trace->add(options_.layer, attention_->weights(x, pass));
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

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    return rest(x, attended(x, pass), pass);
  }

  at::Tensor rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen) override {
    return rest(chosen.of(x), attended(x, pass, chosen), chosen.of(pass));
  }

 private:
  /// What comes after attention, row by row.
  at::Tensor rest(const at::Tensor& x, const at::Tensor& branch, const Pass& pass) const {
    auto stream = attention_norm_->after(residual(x, branch, BlockSite::kAttentionOutput, pass));
    if (cross_attention_) {
      stream = cross_attention_norm_->after(residual(
          stream, cross_attention_->forward(stream, pass), BlockSite::kCrossAttentionOutput, pass));
    }
    return feed_forward_norm_->after(residual(stream, feed_forward_->forward(stream, pass),
                                              BlockSite::kFeedForwardOutput, pass));
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

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    const auto branch = attended(normed(x), pass);  // what is normed is held no longer
    return rest(x, branch, pass);
  }

  at::Tensor rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen) override {
    const auto branch = attended(normed(x), pass, chosen);
    return rest(chosen.of(x), branch, chosen.of(pass));
  }

 private:
  at::Tensor normed(const at::Tensor& x) const {
    return attention_norm_ ? attention_norm_->forward(x) : x;
  }

  /// What comes after attention, row by row.
  at::Tensor rest(const at::Tensor& x, const at::Tensor& branch, const Pass& pass) const {
    auto stream = added(residual(x, branch, BlockSite::kAttentionOutput, pass));
    if (cross_attention_) {
      const auto seen = cross_attention_->forward(cross_attention_norm_->forward(stream), pass);
      stream = added(residual(stream, seen, BlockSite::kCrossAttentionOutput, pass));
    }
    const auto changed = feed_forward_->forward(feed_forward_norm_->forward(stream), pass);
    return added(residual(stream, changed, BlockSite::kFeedForwardOutput, pass));
  }
};

/// Attention and feed-forward side by side, each with a norm of its own (GPT-NeoX,
/// arXiv:2204.06745, section 2.1.2).
class ParallelBlock : public TransformerBlock {
 public:
  explicit ParallelBlock(const BlockOptions& options) : TransformerBlock(options) {
    TORCH_CHECK(!options.has_cross_attention, "a parallel block has no cross attention");
    register_attention_norm();
    register_attention();
    register_feed_forward_norm();
    register_feed_forward();
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) override {
    const auto branch = attended(attention_norm_->forward(x), pass);
    return rest(x, branch, pass);
  }

  at::Tensor rows(const at::Tensor& x, const Pass& pass, const ChosenRows& chosen) override {
    const auto branch = attended(attention_norm_->forward(x), pass, chosen);
    return rest(chosen.of(x), branch, chosen.of(pass));
  }

 private:
  at::Tensor rest(const at::Tensor& x, const at::Tensor& branch, const Pass& pass) const {
    const auto changed = feed_forward_->forward(feed_forward_norm_->forward(x), pass);
    const auto stream = added(residual(x, branch, BlockSite::kAttentionOutput, pass));
    return added(residual(stream, changed, BlockSite::kFeedForwardOutput, pass));
  }
};

}  // namespace

std::shared_ptr<Block> make_block(const BlockOptions& options) {
  if (options.is_parallel) {
    TORCH_CHECK(options.norm_place == NormPlace::kPre, "a parallel block has its norms first");
    return std::make_shared<ParallelBlock>(options);
  }
  switch (options.norm_place) {
    case NormPlace::kPost:
      return std::make_shared<PostNormBlock>(options);
    case NormPlace::kPre:
      return std::make_shared<PreNormBlock>(options);
  }
  TORCH_CHECK(false, "no such place of norms");
}

}  // namespace weft::nn
