#include "base/string_util.h"
#include "models/config/hf_config_fields.h"
#include "models/families/bert_kind.h"
#include "models/families/families.h"
#include "nn/attention/approximations/nystrom.h"

namespace weft::models {

namespace {

constexpr int64_t kMostLandmarks = 1 << 16;
constexpr int64_t kMostTaps = 1023;
constexpr int64_t kFirstPosition = 2;  // its table starts with rows for the pad id, like RoBERTa's

/// The published models (arXiv:2102.03902).
ModelOptions nystromformer_defaults() {
  ModelOptions options;
  options.activation = kernels::Activation::kGeluTanh;
  options.norm_epsilon = 1e-5;
  return options;
}

std::vector<Preset> nystromformer_presets() {
  const auto begin = nystromformer_defaults();
  return {{"nystromformer-mini", sized(begin, {4, 256, 4})},
          {"nystromformer-base", sized(begin, {12, 768, 12})}};
}

/// Values of absent config.json keys.
ModelOptions absent_nystromformer() {
  auto options = nystromformer_defaults();
  options.vocabulary = 30000;
  options.length = 510;
  options.pad_id = 1;
  options.bos_id = 0;
  options.eos_id = 2;
  options.nystrom.segment_length = options.nystrom.landmarks;
  return options;
}

nn::AttentionMaker nystromformer_attention_of(const ModelOptions& options, int64_t /*layer*/) {
  const auto& own = options.nystrom;
  return [own](const nn::AttentionOptions& attention) {
    return nn::make_nystrom_attention(attention, {.landmarks = own.landmarks,
                                                  .convolution = own.convolution,
                                                  .is_exact = own.segment_length == own.landmarks,
                                                  .has_common_start = true});
  };
}

void read_nystromformer_landmarks(LayerPartSection& part,
                                  ModelOptions& options,
                                  const ModelOptions* base) {
  auto& section = part.shared();
  auto& own = options.nystrom;
  const auto type =
      read_attention_types(part,
                           {.family_types = {"nystrom"},
                            .default_type = "nystrom",
                            .layers = options.layers,
                            .help = "Attention through landmarks, or another attention type."},
                           options.layer_types);
  if (type != "nystrom" && !section.is_documenting()) {
    return;
  }
  section.read("landmarks", own.landmarks,
               {.help = "Landmarks of a text: means of segments of its queries and keys.",
                .range = config::between(1, kMostLandmarks)});
  section.read(
      "segment_length", own.segment_length,
      {.help = "Length for which transformers computes landmarks, `segment_means_seq_len`. 0: the "
               "length of the model. As many as landmarks: full attention for all texts.",
       .unit = "tokens",
       .range = config::between(0, kMostTokens)});
  section.read("convolution", own.convolution,
               {.help = "Kernel size of the convolution of the values that is added; odd.",
                .unit = "tokens",
                .range = config::between(1, kMostTaps)});
  if (own.convolution % 2 == 0) {
    section.fail("convolution", str_cat("found ", own.convolution, ", allowed are odd numbers"));
  }
  if (base != nullptr) {
    require_unchanged(section, "convolution", own.convolution, base->nystrom.convolution);
  }
}

void read_nystromformer_json(const JsonFields& fields, ModelOptions& options) {
  auto& own = options.nystrom;
  options.length += kFirstPosition;  // max_position_embeddings does not count these rows
  fields.read("num_landmarks", own.landmarks, int64_t{1}, kMostLandmarks);
  fields.read("segment_means_seq_len", own.segment_length, int64_t{1}, kMostTokens);
  fields.read("conv_kernel_size", own.convolution, int64_t{1}, kMostTaps);
  if (own.convolution % 2 == 0) {
    fields.fail("conv_kernel_size", str_cat("found ", own.convolution, ", must be odd"));
  }
  bool has_exact_coefficient = false;
  fields.read("inv_coeff_init_option", has_exact_coefficient);
  if (has_exact_coefficient) {
    fields.fail("inv_coeff_init_option", "found true, must be false");
  }
}

void write_nystromformer_json(formats::Json& json, const ModelOptions& options) {
  const auto& own = options.nystrom;
  json["max_position_embeddings"] = options.length;
  json["num_landmarks"] = own.landmarks;
  json["segment_means_seq_len"] = own.segment_length > 0 ? own.segment_length : options.length;
  json["conv_kernel_size"] = own.convolution;
  json["inv_coeff_init_option"] = false;
}

}  // namespace

FamilyDefinition nystromformer() {
  auto made = bert_family::definition(
      {NormPlacement::kPost, "nystromformer", "nystromformer", "Nystromformer"},
      {.has_pooler = false,
       .first_position = kFirstPosition,
       .classifier_uses_stack_activation = true},
      {.attention_convolution = "attention.self.conv",
       .bias_copy = "cls.predictions.decoder.bias",
       .tied_copy = "cls.predictions.decoder.",
       .sequence_dense = "classifier.dense",
       .sequence = "classifier.out_proj"});
  made.defaults = nystromformer_defaults;
  made.presets = nystromformer_presets;
  made.read_keys = [](auto& section, auto& options, const auto* base) {
    bert_family::read_keys(
        section, options, base,
        {.pooling = "cls", .has_sinusoids = true, .read_window = read_nystromformer_landmarks});
  };
  bert_family::set_json(
      made, absent_nystromformer,
      {.read_more = read_nystromformer_json, .write_more = write_nystromformer_json});
  made.attention = nystromformer_attention_of;
  return made;
}

}  // namespace weft::models
