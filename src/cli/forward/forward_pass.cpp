#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "cli/forward/forward.h"
#include "cli/forward/padded_batch.h"
#include "data/batch.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"

namespace weft::cli {

namespace {

using Outputs = std::map<std::string, at::Tensor>;

/// One forward pass, and the inputs of its head.
class TextPassage {
 public:
  TextPassage(models::Model& model, const ForwardInputs& inputs)
      : model_(model),
        inputs_(inputs),
        head_(models::head_of(model.options())),
        has_targets_(std::all_of(head_.targets.begin(),
                                 head_.targets.end(),
                                 [&](auto name) { return inputs.has(std::string(name)); })),
        padded_(inputs.rows(), inputs.columns(), inputs.get("attention_mask"), inputs.path()) {
    context_.layout = padded_.layout();
    inputs.check_length("input_ids", padded_.layout().max_length, model.options());
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
    histories_ = model.histories(input, context_);
  }

  Outputs outputs() {
    if (head_.is_bare) {
      return base_model();
    }
    if (head_.predicts_tokens) {
      predict_tokens();
    }
    if (head_.predicts_neighbours) {
      for (const auto& states : hidden_.chunk(2, 1)) {
        logits_.push_back(padded_.unpack(model_.lm_logits(states)));
      }
    }
    if (head_.predicts_next_sentence) {
      add_classes(model_.next_sentence_logits(model_.pooled(hidden_, context_)));
    }
    if (head_.classifies_sequences) {
      classify_sequences();
    }
    if (head_.classifies_tokens) {
      classify_tokens();
    }
    if (head_.predicts_spans) {
      predict_spans();
    }
    if (head_.detects_replaced_tokens) {
      detect_replaced_tokens();
    }
    Outputs outputs;
    for (std::size_t i = 0; i < logits_.size(); ++i) {
      outputs[std::string(head_.outputs.at(i))] = logits_[i];
    }
    if (loss_.defined()) {
      outputs["loss"] = loss_;
    }
    return outputs;
  }

 private:
  Outputs base_model() {
    Outputs outputs = {{"last_hidden_state", unpacked_hidden_states()}};
    if (models::has_pooler(model_.options())) {
      outputs["pooler_output"] = model_.pooled(hidden_, context_);
    }
    return outputs;
  }

  /// Padded to the longest of the sequences, which may be shorter than those of the tokens.
  at::Tensor unpacked_hidden_states() const {
    const auto layout = model_.hidden_layout(context_.layout);
    if (layout.offsets == context_.layout.offsets) {
      return padded_.unpack(hidden_);
    }
    const auto mask =
        at::arange(layout.max_length).lt(layout.device_lengths().cpu().unsqueeze(1)).to(at::kLong);
    return PaddedBatch(layout.sequences(), layout.max_length, mask, inputs_.path()).unpack(hidden_);
  }

  /// Logits of all positions, for output only: the loss uses the training path.
  at::Tensor token_logits() {
    const at::NoGradGuard guard;
    return padded_.unpack(model_.lm_logits({hidden_, histories_}));
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

  /// Each token predicts the next one's label: the loss shifts them, as in transformers.
  at::Tensor next_labels() {
    const auto labels = packed_labels();
    auto next = at::full_like(labels, data::kIgnoreIndex);
    const auto& offsets = context_.layout.offsets;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
      const int64_t rest = offsets[b + 1] - offsets[b] - 1;
      next.narrow(0, offsets[b], rest).copy_(labels.narrow(0, offsets[b] + 1, rest));
    }
    if ((next == data::kIgnoreIndex).all().item<bool>()) {
      inputs_.fail("labels", "no token has a label after it, at least one target is required");
    }
    return next;
  }

  void predict_tokens() {
    logits_.push_back(token_logits());
    if (!has_targets_) {
      return;
    }
    const auto labels = head_.generates ? next_labels() : packed_labels();
    const auto rows = (labels != data::kIgnoreIndex).nonzero().squeeze(1);  // (M)
    const auto sum = model_.lm_loss(
        {hidden_.index_select(0, rows),
         histories_.defined() ? histories_.index_select(0, rows.to(histories_.device()))
                              : histories_},
        labels.index_select(0, rows), {});
    add_loss(sum / rows.size(0));
  }

  /// Mean over the labels that are not ignored.
  at::Tensor class_loss(const at::Tensor& logits, const at::Tensor& labels) const {
    return kernels::cross_entropy_sum(logits, labels) / (labels != data::kIgnoreIndex).sum();
  }

  void add_loss(const at::Tensor& loss) { loss_ = loss_.defined() ? loss_ + loss : loss; }

  /// Classes of sequences, whose labels are the last of the targets.
  void add_classes(const at::Tensor& logits) {
    logits_.push_back(logits);
    if (has_targets_) {
      add_loss(class_loss(logits, inputs_.get(std::string(head_.targets.back()))));
    }
  }

  void classify_sequences() {
    const auto logits = model_.class_logits(hidden_, context_);
    const auto& options = model_.options();
    if (!has_targets_ || !(options.is_regression || options.is_multi_label)) {
      return add_classes(logits);
    }
    const auto labels = inputs_.get("labels").view_as(logits);
    logits_.push_back(logits);
    add_loss(options.is_regression ? at::mse_loss(logits, labels)
                                   : at::binary_cross_entropy_with_logits(logits, labels));
  }

  void classify_tokens() {
    const auto logits = model_.token_logits(hidden_, context_);  // (N, C)
    logits_.push_back(padded_.unpack(logits));
    if (has_targets_) {
      add_loss(class_loss(logits, packed_labels()));
    }
  }

  void predict_spans() {
    const auto logits = model_.token_logits(hidden_, context_);  // (N, 2)
    logits_.push_back(padded_.unpack(logits.select(1, 0)));
    logits_.push_back(padded_.unpack(logits.select(1, 1)));
    if (has_targets_) {
      add_loss((span_loss(logits.select(1, 0), "start_positions") +
                span_loss(logits.select(1, 1), "end_positions")) /
               2);
    }
  }

  /// One logit per token, and the mean over those that have a label.
  void detect_replaced_tokens() {
    const auto logits = model_.token_logits(hidden_, context_).squeeze(1);  // (N)
    logits_.push_back(padded_.unpack(logits));
    if (!has_targets_) {
      return;
    }
    const auto labels = packed_labels();
    const auto rows = (labels != data::kIgnoreIndex).nonzero().squeeze(1);
    add_loss(at::binary_cross_entropy_with_logits(logits.index_select(0, rows),
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
  const models::HeadDefinition& head_;
  bool has_targets_;
  PaddedBatch padded_;
  nn::ForwardContext context_;
  at::Tensor hidden_;               // (N, D)
  at::Tensor histories_;            // Model::histories
  std::vector<at::Tensor> logits_;  // in the order of the head's outputs
  at::Tensor loss_;                 // undefined without targets
};

}  // namespace

Outputs forward_pass(models::Model& model, const ForwardInputs& inputs) {
  if (models::reads_images(model.options())) {
    return image_forward_pass(model, inputs);
  }
  if (models::head_of(model.options()).reads_source) {
    return seq2seq_forward_pass(model, inputs);
  }
  return TextPassage(model, inputs).outputs();
}

}  // namespace weft::cli
