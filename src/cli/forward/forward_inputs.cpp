#include <algorithm>
#include <utility>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "cli/forward/forward.h"
#include "data/batch.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/weights/tensors.h"

namespace weft::cli {

namespace {

std::vector<std::string> names_of(const models::ModelOptions& options) {
  const bool is_of_images = models::reads_images(options);
  std::vector<std::string> names = is_of_images
                                       ? std::vector<std::string>{"pixel_values"}
                                       : std::vector<std::string>{"input_ids", "attention_mask"};
  const auto& capabilities = models::capabilities_of(options.family);
  if (options.type_vocab_size > 0) {
    names.emplace_back(capabilities.has_language_ids ? "langs" : "token_type_ids");
  }
  if (capabilities.resets_positions) {
    names.emplace_back("position_ids");
  }
  const auto& head = models::head_of(options);
  names.insert(names.end(), head.inputs.begin(), head.inputs.end());
  names.insert(names.end(), head.targets.begin(), head.targets.end());
  return names;
}

bool takes_numbers(const std::string& name, const models::ModelOptions& options) {
  return name == "pixel_values" || (name == "labels" && models::head_of(options).has_problem_type &&
                                    (options.is_regression || options.is_multi_label));
}

/// End of the range of `labels`.
int64_t label_count(const models::ModelOptions& options) {
  const auto& head = models::head_of(options);
  return head.predicts_tokens           ? options.vocabulary
         : head.detects_replaced_tokens ? 2
                                        : models::head_outputs(options);
}

}  // namespace

ForwardInputs::ForwardInputs(const std::string& path, const models::ModelOptions& options)
    : path_(path) {
  read(options);
  check(options);
}

ForwardInputs::ForwardInputs(std::map<std::string, at::Tensor> tensors,
                             const models::ModelOptions& options)
    : path_("inputs"), tensors_(std::move(tensors)) {
  check(options);
}

at::Tensor ForwardInputs::get(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? at::Tensor() : found->second;
}

void ForwardInputs::fail(const std::string& name, const std::string& message) const {
  throw formats::Error(path_ + ": " + name + ": " + message);
}

void ForwardInputs::check_length(const std::string& name,
                                 int64_t length,
                                 const models::ModelOptions& options) const {
  const auto limit = models::position_limit(options);
  if (limit > 0 && length > limit) {
    fail(name, str_cat("a sequence of ", length, " tokens, the model's maximum is ", limit));
  }
}

void ForwardInputs::read(const models::ModelOptions& options) {
  const formats::SafetensorsFile file(path_);
  const auto names = names_of(options);
  for (const auto& [name, view] : file.tensors()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      const auto near = did_you_mean(name, names);
      fail(printable(name), str_cat("not an input of ", models::architecture_of(options),
                                    near.empty() ? "" : ", did you mean " + near + "?",
                                    near.empty() ? ", allowed is " + join(names) : ""));
    }
    const auto wanted = takes_numbers(name, options) ? formats::DType::kF32 : formats::DType::kI64;
    if (view.dtype != wanted) {
      fail(name, str_cat("found ", formats::name_of(view.dtype), ", allowed is ",
                         formats::name_of(wanted)));
    }
    tensors_[name] = models::tensor_of(view).clone();
  }
}

void ForwardInputs::check_shape(const std::string& name, const std::vector<int64_t>& shape) const {
  if (has(name) && get(name).sizes() != at::IntArrayRef(shape)) {
    fail(name, str_cat("found shape ", models::shape_text(get(name).sizes().vec()), ", expected ",
                       models::shape_text(shape)));
  }
}

void ForwardInputs::check_range(const std::string& name, int64_t end, bool ignores) const {
  if (!has(name)) {
    return;
  }
  const auto values = get(name).contiguous();
  const auto* data = values.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    const bool is_allowed =
        (data[i] >= 0 && data[i] < end) || (ignores && data[i] == data::kIgnoreIndex);
    if (!is_allowed) {
      fail(name,
           str_cat("found ", data[i], ", allowed is 0 to ", end - 1, ignores ? " or -100" : ""));
    }
  }
}

void ForwardInputs::check(const models::ModelOptions& options) {
  if (models::reads_images(options)) {
    return check_image_inputs(*this, options);
  }
  if (!has("input_ids")) {
    fail("input_ids", "missing, but required");
  }
  const auto ids = get("input_ids");
  if (ids.dim() != 2 || ids.numel() == 0) {
    fail("input_ids",
         "found shape " + models::shape_text(ids.sizes().vec()) + ", expected (sequences, length)");
  }
  rows_ = ids.size(0);
  columns_ = ids.size(1);
  check_shape("attention_mask", {rows_, columns_});
  for (const auto* name : {"token_type_ids", "langs", "position_ids"}) {
    check_shape(name, {rows_, columns_});
  }
  const int64_t source = options.decoder.source_vocabulary;
  check_range("input_ids", source > 0 ? source : options.vocabulary);
  check_range("token_type_ids", options.type_vocab_size);
  check_range("langs", options.type_vocab_size);
  check_range("position_ids", options.length);
  check_labels(options);
}

void ForwardInputs::check_labels(const models::ModelOptions& options) const {
  const auto& head = models::head_of(options);
  if (head.reads_source) {
    return check_seq2seq_inputs(*this, options);
  }
  check_shape("prefix_lengths", {rows_});
  check_range("prefix_lengths", columns_ + 1);
  if (takes_numbers("labels", options)) {
    const int64_t outputs = models::head_outputs(options);
    const bool is_flat = options.is_regression && outputs == 1;
    check_shape("labels",
                is_flat ? std::vector<int64_t>{rows_} : std::vector<int64_t>{rows_, outputs});
  } else {
    const bool is_per_token = head.predicts_tokens || head.has_token_logits();
    check_shape("labels",
                is_per_token ? std::vector<int64_t>{rows_, columns_} : std::vector<int64_t>{rows_});
    check_range("labels", label_count(options), true);
  }
  check_shape("next_sentence_label", {rows_});
  check_range("next_sentence_label", 2, true);
  for (const auto* name : {"start_positions", "end_positions"}) {
    check_shape(name, {rows_});
    check_range(name, columns_);
  }
}

}  // namespace weft::cli
