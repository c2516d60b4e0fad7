#include "cli/forward/forward_pass.h"

#include <limits>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "cli/forward/forward_images.h"
#include "cli/forward/forward_seq2seq.h"
#include "cli/forward/padded_batch.h"
#include "data/batch.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "models/config/family_definition.h"
#include "models/config/traits.h"

namespace weft::cli {

namespace {

using models::Head;
using Outputs = std::map<std::string, at::Tensor>;

/// One forward pass, and the inputs of its heads.
class TextPassage {
 public:
  TextPassage(models::Model& model, const ForwardInputs& inputs)
      : model_(model),
        inputs_(inputs),
        padded_(inputs.rows(), inputs.columns(), inputs.get("attention_mask"), inputs.path()) {
    context_.layout = padded_.layout();
    const bool has_end = model.options().relative.buckets == 0;
    if (has_end && context_.layout.max_length > model.options().length) {
      inputs.fail("input_ids", str_cat("a sequence of ", context_.layout.max_length,
                                       " tokens, the model's maximum is ", model.options().length));
    }
    models::TextInput input{.ids = padded_.pack(inputs.get("input_ids")), .types = {}};
    for (const auto* name : {"token_type_ids", "langs"}) {
      if (inputs.has(name)) {
        input.types = padded_.pack(inputs.get(name));
      }
    }
    if (inputs.has("position_ids")) {
      const auto positions = padded_.pack(inputs.get("position_ids")).contiguous();  // (N)
      const auto* first = positions.const_data_ptr<int64_t>();
      context_.layout = context_.layout.with_positions({first, first + positions.numel()});
    }
    if (inputs.has("prefix_lengths")) {
      const auto prefix_lengths = inputs.get("prefix_lengths").contiguous();
      const auto* first = prefix_lengths.const_data_ptr<int64_t>();
      context_.prefix_lengths.assign(first, first + prefix_lengths.numel());
    }
    hidden_ = model.hidden(input, context_);
  }

  Outputs outputs() {
    switch (model_.options().head) {
      case Head::kNone:
        return base_model();
      case Head::kMaskedLm:
        return with_loss({{"logits", token_logits()}}, token_loss());
      case Head::kPretraining:
        return pretraining();
      case Head::kNextSentence:
        return classes(model_.next_sentence_logits(model_.pooled(hidden_, context_)), "labels");
      case Head::kSequence:
        return sequence();
      case Head::kToken:
        return tokens();
      case Head::kSpan:
        return spans();
      case Head::kReplacedToken:
        return replaced_tokens();
      case Head::kCausalLm:
        return causal();
      case Head::kConditional:
      case Head::kImage:
      case Head::kDistilledImage:
      case Head::kMaskedImage:
        break;
    }
    return {};
  }

 private:
  static Outputs with_loss(Outputs outputs, const at::Tensor& loss) {
    if (loss.defined()) {
      outputs["loss"] = loss;
    }
    return outputs;
  }

  Outputs base_model() {
    Outputs outputs = {{"last_hidden_state", padded_.unpack(hidden_)}};
    if (models::capabilities_of(model_.options().family).has_pooler) {
      outputs["pooler_output"] = model_.pooled(hidden_, context_);
    }
    return outputs;
  }

  /// Logits of all positions, for output only: the loss uses the training path.
  at::Tensor token_logits() {
    const at::NoGradGuard guard;
    return padded_.unpack(kernels::linear(model_.token_features(hidden_), model_.output_weight(),
                                          model_.output_bias()));
  }

  /// Labels of the real positions, (N). Masked positions must be ignored.
  at::Tensor packed_labels() {
    const auto labels = inputs_.get("labels");
    if ((padded_.padding_values(labels) != data::kIgnoreIndex).any().item<bool>()) {
      inputs_.fail("labels",
                   "found a label at a position with attention_mask 0, allowed there is only -100");
    }
    const auto packed = padded_.pack(labels);
    if ((packed == data::kIgnoreIndex).all().item<bool>()) {
      inputs_.fail("labels", "all are -100, at least one target is required");
    }
    return packed;
  }

  at::Tensor token_loss() {
    if (!inputs_.has("labels")) {
      return {};
    }
    const auto labels = packed_labels();
    const auto rows = (labels != data::kIgnoreIndex).nonzero().squeeze(1);  // (M)
    const auto features = model_.token_features(hidden_.index_select(0, rows));
    const auto sum = kernels::linear_cross_entropy(
        features, model_.output_weight(), model_.output_bias(), labels.index_select(0, rows));
    return sum / rows.size(0);
  }

  /// Each token predicts the next one's label: the loss shifts them, as in transformers.
  Outputs causal() {
    Outputs outputs = {{"logits", token_logits()}};
    if (!inputs_.has("labels")) {
      return outputs;
    }
    const auto labels = packed_labels();
    auto next = at::full_like(labels, data::kIgnoreIndex);
    const auto& offsets = context_.layout.offsets;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      const int64_t rest = offsets[b + 1] - offsets[b] - 1;
      next.narrow(0, offsets[b], rest).copy_(labels.narrow(0, offsets[b] + 1, rest));
    }
    const auto rows = (next != data::kIgnoreIndex).nonzero().squeeze(1);  // (M)
    if (rows.size(0) == 0) {
      inputs_.fail("labels", "no token has a label after it, at least one target is required");
    }
    const auto features = model_.token_features(hidden_.index_select(0, rows));
    const auto sum = kernels::linear_cross_entropy(
        features, model_.output_weight(), model_.output_bias(), next.index_select(0, rows));
    return with_loss(std::move(outputs), sum / rows.size(0));
  }

  /// Mean over the labels that are not ignored.
  at::Tensor class_loss(const at::Tensor& logits, const at::Tensor& labels) const {
    return kernels::cross_entropy_sum(logits, labels) / (labels != data::kIgnoreIndex).sum();
  }

  Outputs classes(const at::Tensor& logits, const std::string& labels) {
    return with_loss({{"logits", logits}},
                     inputs_.has(labels) ? class_loss(logits, inputs_.get(labels)) : at::Tensor());
  }

  Outputs pretraining() {
    const auto pair = model_.next_sentence_logits(model_.pooled(hidden_, context_));
    Outputs outputs = {{"prediction_logits", token_logits()}, {"seq_relationship_logits", pair}};
    const bool has_loss = inputs_.has("labels") && inputs_.has("next_sentence_label");
    return with_loss(std::move(outputs),
                     has_loss ? token_loss() + class_loss(pair, inputs_.get("next_sentence_label"))
                              : at::Tensor());
  }

  Outputs sequence() {
    const auto logits = model_.class_logits(hidden_, context_);
    const auto& options = model_.options();
    if (!inputs_.has("labels") || !(options.is_regression || options.is_multi_label)) {
      return classes(logits, "labels");
    }
    const auto labels = inputs_.get("labels").view_as(logits);
    return with_loss({{"logits", logits}},
                     options.is_regression ? at::mse_loss(logits, labels)
                                           : at::binary_cross_entropy_with_logits(logits, labels));
  }

  Outputs tokens() {
    const auto logits = model_.token_logits(hidden_, context_);  // (N, C)
    return with_loss({{"logits", padded_.unpack(logits)}},
                     inputs_.has("labels") ? class_loss(logits, packed_labels()) : at::Tensor());
  }

  Outputs spans() {
    const auto logits = model_.token_logits(hidden_, context_);  // (N, 2)
    Outputs outputs = {{"start_logits", padded_.unpack(logits.select(1, 0))},
                       {"end_logits", padded_.unpack(logits.select(1, 1))}};
    if (!inputs_.has("start_positions") || !inputs_.has("end_positions")) {
      return outputs;
    }
    const auto loss = (span_loss(logits.select(1, 0), "start_positions") +
                       span_loss(logits.select(1, 1), "end_positions")) /
                      2;
    return with_loss(std::move(outputs), loss);
  }

  /// One logit per token, and the mean over those that have a label.
  Outputs replaced_tokens() {
    const auto logits = model_.token_logits(hidden_, context_).squeeze(1);  // (N)
    Outputs outputs = {{"logits", padded_.unpack(logits)}};
    if (!inputs_.has("labels")) {
      return outputs;
    }
    const auto labels = packed_labels();
    const auto rows = (labels != data::kIgnoreIndex).nonzero().squeeze(1);
    return with_loss(std::move(outputs), at::binary_cross_entropy_with_logits(
                                             logits.index_select(0, rows),
                                             labels.index_select(0, rows).to(at::kFloat)));
  }

  /// Cross-entropy over the real positions of each sequence; padding is excluded as an answer.
  at::Tensor span_loss(const at::Tensor& logits, const std::string& name) {
    const auto positions = padded_.unpack(at::ones_like(logits));  // (B, L)
    const auto targets = inputs_.get(name);
    if ((positions.gather(1, targets.unsqueeze(1)) == 0).any().item<bool>()) {
      inputs_.fail(name, "found a target position with attention_mask 0");
    }
    const auto scores =
        padded_.unpack(logits).masked_fill(positions == 0, -std::numeric_limits<float>::infinity());
    return class_loss(scores, targets);
  }

  models::Model& model_;
  const ForwardInputs& inputs_;
  PaddedBatch padded_;
  nn::ForwardContext context_;
  at::Tensor hidden_;  // (N, D)
};

}  // namespace

Outputs forward_pass(models::Model& model, const ForwardInputs& inputs) {
  if (models::reads_images(model.options())) {
    return image_forward_pass(model, inputs);
  }
  if (model.options().head == Head::kConditional) {
    return seq2seq_forward_pass(model, inputs);
  }
  return TextPassage(model, inputs).outputs();
}

}  // namespace weft::cli
