#include <algorithm>

#include <ATen/Functions.h>
#include <ATen/TensorIndexing.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "cli/forward/forward.h"
#include "cli/forward/padded_batch.h"
#include "data/batch.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "models/config/family.h"

namespace weft::cli {

namespace {

using models::ModelOptions;

constexpr auto kTarget = "decoder_input_ids";
constexpr auto kTargetMask = "decoder_attention_mask";

/// Decoder input (B, T) and its mask.
struct Target {
  at::Tensor ids;
  at::Tensor mask;
};

/// 1 up to the last label of each row.
at::Tensor mask_of_labels(const at::Tensor& labels) {
  const auto counted = (labels != data::kIgnoreIndex).to(at::kLong);  // (B, T)
  return counted.flip(1).cumsum(1).clamp_max(1).flip(1).contiguous();
}

/// Labels shifted right by one position, after the decoder's start token: with language tokens
/// (mBART) the last token of its text.
at::Tensor shifted(const at::Tensor& labels,
                   const ForwardInputs& inputs,
                   const ModelOptions& options) {
  const auto filled =
      labels.masked_fill(labels == data::kIgnoreIndex, std::max<int64_t>(0, options.pad_id));
  auto first = at::full({labels.size(0), 1}, options.decoder.decoder_start_id, at::kLong);
  if (models::capabilities_of(options.family).has_language_tokens) {
    const auto last = (filled != options.pad_id).sum(1, true) - 1;  // (B, 1)
    first = filled.gather(1, last.clamp_min(0));
  } else if (options.decoder.decoder_start_id < 0) {
    inputs.fail(kTarget, "missing, and config.json has no decoder_start_token_id");
  }
  return at::cat({first, filled.slice(1, 0, -1)}, 1);
}

Target target_of(const ForwardInputs& inputs, const ModelOptions& options) {
  if (inputs.has(kTarget)) {
    return {.ids = inputs.get(kTarget), .mask = inputs.get(kTargetMask)};
  }
  if (!inputs.has("labels")) {
    inputs.fail(kTarget, "missing, but this or labels is required");
  }
  const auto labels = inputs.get("labels");
  return {.ids = shifted(labels, inputs, options),
          .mask = inputs.has(kTargetMask) ? inputs.get(kTargetMask) : mask_of_labels(labels)};
}

/// Mean over the labels that are not ignored; undefined if there are none.
at::Tensor loss_of(models::Model& model,
                   const at::Tensor& hidden,
                   const PaddedBatch& padded,
                   const ForwardInputs& inputs) {
  if (!inputs.has("labels")) {
    return {};
  }
  if ((padded.padding_values(inputs.get("labels")) != data::kIgnoreIndex).any().item<bool>()) {
    inputs.fail("labels", str_cat("found a label at a position with ", kTargetMask,
                                  " 0, allowed there is only -100"));
  }
  const auto labels = padded.pack(inputs.get("labels"));
  const auto rows = (labels != data::kIgnoreIndex).nonzero().squeeze(1);  // (M)
  if (rows.size(0) == 0) {
    inputs.fail("labels", "all are -100, at least one target is required");
  }
  return model.lm_loss(hidden.index_select(0, rows), labels.index_select(0, rows), {}) /
         rows.size(0);
}

}  // namespace

void check_seq2seq_inputs(const ForwardInputs& inputs, const ModelOptions& options) {
  const auto like = inputs.has(kTarget) ? kTarget : "labels";
  const auto ids = inputs.get(like);
  if (!ids.defined()) {
    inputs.fail(kTarget, "missing, but this or labels is required");
  }
  if (ids.dim() != 2 || ids.size(0) != inputs.rows() || ids.size(1) == 0) {
    inputs.fail(like, str_cat("found a shape other than (", inputs.rows(), ", length)"));
  }
  const auto shape = ids.sizes().vec();
  inputs.check_shape(kTargetMask, shape);
  inputs.check_shape("labels", shape);
  inputs.check_range(kTarget, options.vocabulary);
  inputs.check_range("labels", options.vocabulary, true);
}

std::map<std::string, at::Tensor> seq2seq_forward_pass(models::Model& model,
                                                       const ForwardInputs& inputs) {
  const auto& options = model.options();
  const PaddedBatch source(inputs.rows(), inputs.columns(), inputs.get("attention_mask"),
                           inputs.path());
  const auto target = target_of(inputs, options);
  const PaddedBatch padded(target.ids.size(0), target.ids.size(1), target.mask,
                           inputs.path() + ": decoder");
  inputs.check_length("input_ids", source.layout().max_length, options);
  inputs.check_length(kTarget, padded.layout().max_length, options);
  nn::ForwardContext reading;
  reading.layout = source.layout();
  const nn::EncoderStates encoder_states{
      .states = model.encode({.ids = source.pack(inputs.get("input_ids")), .patches = {}}, reading),
      .layout = source.layout()};
  nn::ForwardContext writing;
  writing.layout = padded.layout();
  writing.encoder_states = &encoder_states;
  const auto hidden = model.hidden({.ids = padded.pack(target.ids), .types = {}}, writing);
  std::map<std::string, at::Tensor> outputs;
  if (const auto loss = loss_of(model, hidden, padded, inputs); loss.defined()) {
    outputs["loss"] = loss;
  }
  const at::NoGradGuard guard;  // the loss uses the training path
  outputs["logits"] = padded.unpack(model.lm_logits(hidden));
  return outputs;
}

}  // namespace weft::cli
