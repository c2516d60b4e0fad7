#include <array>
#include <string_view>
#include <utility>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/config/hf_config_fields.h"
#include "models/config/shared_model_keys.h"
#include "models/families/families.h"
#include "models/vision.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models {

namespace {

constexpr int64_t kLargestImage = 1 << 15;
constexpr int64_t kMostGrid = 1 << 12;  // patches per side

/// Adds a convolution, stored with its kernel's shape; here it is a matrix.
void add_convolution(WeightMapBuilder& builder,
                     const std::string& parameter,
                     const std::string& hf_name,
                     const std::vector<int64_t>& shape,
                     Part part) {
  builder.table(parameter, hf_name, shape, part);
  builder.result.push_back({.parameter = parameter + ".bias",
                            .name = hf_name + ".bias",
                            .shape = {shape.front()},
                            .part = part});
}

void add_embeddings(WeightMapBuilder& builder,
                    const ModelOptions& options,
                    const std::string& prefix) {
  const auto& vision = options.vision;
  const auto add = [&](const std::string& parameter, const std::string& hf_name, int64_t rows) {
    builder.result.push_back({.parameter = "embeddings." + parameter,
                              .name = prefix + "embeddings." + hf_name,
                              .shape = {1, rows, options.dim}});
  };
  int64_t own = 0;
  if (vision.has_class_token) {
    add("class_token", "cls_token", 1);
    ++own;
  }
  if (vision.has_distillation_token) {
    add("distillation_token", "distillation_token", 1);
    ++own;
  }
  if (head_of(options).predicts_pixels) {
    add("mask_token", "mask_token", 1);
    builder.result.back().part = Part::kHead;  // other heads mask no patches
  }
  add("position", "position_embeddings", own + vision.grid() * vision.grid());
  add_convolution(
      builder, "embeddings.projection", prefix + "embeddings.patch_embeddings.projection",
      {options.dim, vision.channels, vision.patch_size, vision.patch_size}, Part::kBackbone);
}

void add_vision_layer(WeightMapBuilder& builder,
                      const ModelOptions& options,
                      const std::string& parameter,
                      const std::string& hf_name) {
  const int64_t dim = options.dim;
  builder.norm(parameter + "attention_norm", hf_name + "layernorm_before", dim);
  int64_t first = 0;
  for (const auto* name : {"query", "key", "value"}) {
    builder.linear(parameter + "attention.qkv", hf_name + "attention.attention." + name,
                   {dim, dim, options.vision.qkv_bias, first});
    first += dim;
  }
  builder.linear(parameter + "attention.output", hf_name + "attention.output.dense", {dim, dim});
  builder.norm(parameter + "feed_forward_norm", hf_name + "layernorm_after", dim);
  builder.linear(parameter + "feed_forward.up", hf_name + "intermediate.dense",
                 {dim, options.width});
  builder.linear(parameter + "feed_forward.down", hf_name + "output.dense", {options.width, dim});
}

void add_vision_head(WeightMapBuilder& builder, const ModelOptions& options) {
  const auto linear = [&](const std::string& parameter, const std::string& hf_name) {
    builder.linear(parameter, hf_name,
                   {.inputs = options.dim, .outputs = head_outputs(options), .part = Part::kHead});
  };
  const auto& head = head_of(options);
  if (head.is_bare) {
    builder.linear("pooler.dense", "pooler.dense",
                   {.inputs = options.dim, .outputs = options.dim, .part = Part::kPooler});
  } else if (head.predicts_pixels) {
    add_convolution(builder, "head", "decoder.0", {options.vision.patch_width(), options.dim, 1, 1},
                    Part::kHead);
  } else if (head.classifiers == 1) {
    linear("head", "classifier");
  } else {
    linear("head", "cls_classifier");
    linear("distillation_head", "distillation_classifier");
  }
}

ModelOptions vit_defaults() {
  ModelOptions options;
  options.type_vocab_size = 0;
  options.norm_placement = NormPlacement::kPre;
  options.norm_epsilon = 1e-12;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.tie_word_embeddings = false;
  options.pad_id = -1;
  options.vision.image_size = 224;
  return options;
}

void read_vision_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_shared_model_keys(section, options, base,
                         {.has_length = false, .has_ties = false, .has_output = false});
  auto& vision = options.vision;
  section.read(
      "image_size", vision.image_size,
      {.help =
           "Height and width of the input images in pixels; must be a multiple of patch_size. If "
           "it differs from the model in init_from, the position embeddings are interpolated.",
       .unit = "pixels",
       .range = config::between(1, static_cast<double>(kLargestImage))});
  section.read("patch_size", vision.patch_size,
               {.help = "Height and width of a patch in pixels.",
                .unit = "pixels",
                .range = config::between(1, 1024)});
  section.read(
      "num_channels", vision.channels,
      {.help = "Number of image channels: 1 (greyscale) or 3 (RGB). Other images are converted.",
       .range = config::between(1, 3)});
  section.read("qkv_bias", vision.qkv_bias,
               {.help = "Bias terms of the query, key and value projections."});
  if (section.is_documenting()) {
    return;
  }
  if (vision.channels == 2) {
    section.report("num_channels", "2, must be 1 or 3");
  }
  if (vision.image_size % vision.patch_size != 0 || vision.grid() > kMostGrid) {
    section.report(
        "image_size",
        str_cat(vision.image_size, " pixels are not a multiple of the patch size ",
                vision.patch_size, " or give more than ", kMostGrid, " patches per side"));
  }
  if (base != nullptr) {
    require_unchanged(section, "patch_size", vision.patch_size == base->vision.patch_size);
    require_unchanged(section, "num_channels", vision.channels == base->vision.channels);
    require_unchanged(section, "qkv_bias", vision.qkv_bias == base->vision.qkv_bias);
  }
  options.length = vision.grid() * vision.grid() + 2;
}

/// Reads the side of images or patches: one number, or a list of two equal ones.
void read_side(const JsonFields& fields, std::string_view key, int64_t& side) {
  if (fields.has(key) && fields.at(key).is_array()) {
    const auto& list = fields.at(key);
    const bool is_square = list.size() == 2 && list[0] == list[1] && list[0].is_number_integer() &&
                           list[0] > 0 && list[0] <= kLargestImage;
    if (!is_square) {
      fields.fail(key, "must be one size or the same size twice: images are square");
    }
    side = list[0].get<int64_t>();
    return;
  }
  fields.read_size(key, side, kLargestImage);
}

void read_vision_json(const JsonFields& fields, ModelOptions& options) {
  const auto& head = head_of(options);
  options = apply_named(options, family_defaults(options.family));
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_hidden_layers", options.layers, kMostLayers);
  fields.read_size("num_attention_heads", options.heads, kMostFeatures);
  fields.read_size("intermediate_size", options.width, kMostFeatures);
  require_divisible_heads(fields, options);
  read_activation(fields, "hidden_act", options.activation);
  fields.read("layer_norm_eps", options.norm_epsilon, 0.0, 1.0);
  fields.read("initializer_range", options.init_std, 0.0, 100.0);
  fields.read("hidden_dropout_prob", options.dropout, 0.0, 1.0);
  fields.read("attention_probs_dropout_prob", options.attention_dropout, 0.0, 1.0);
  auto& vision = options.vision;
  read_side(fields, "image_size", vision.image_size);
  read_side(fields, "patch_size", vision.patch_size);
  fields.read("num_channels", vision.channels, 1, 3);
  fields.read("qkv_bias", vision.qkv_bias);
  if (vision.image_size % vision.patch_size != 0 || vision.grid() > kMostGrid) {
    fields.fail("image_size",
                str_cat(vision.image_size, " is not a multiple of patch size ", vision.patch_size,
                        " or gives more than ", kMostGrid, " patches per side"));
  }
  int64_t stride = vision.patch_size;
  fields.read("encoder_stride", stride, 1, kLargestImage);
  if (head.predicts_pixels && stride != vision.patch_size) {
    fields.fail("encoder_stride",
                str_cat("found ", stride, ", must be patch_size, ", vision.patch_size));
  }
  int64_t pooled = options.dim;
  fields.read("pooler_output_size", pooled, 1, kMostFeatures);
  if (head.is_bare && pooled != options.dim) {
    fields.fail("pooler_output_size",
                str_cat("found ", pooled, ", must be hidden_size, ", options.dim));
  }
  std::string activation = "tanh";
  fields.read("pooler_act", activation);
  if (head.is_bare && activation != "tanh") {
    fields.fail("pooler_act", "found " + quoted_text(activation) + ", allowed is 'tanh'");
  }
  options.length = vision.grid() * vision.grid() + 2;
}

void write_vision_json(formats::Json& json, const ModelOptions& options) {
  const auto& vision = options.vision;
  json["attention_probs_dropout_prob"] = options.attention_dropout;
  json["encoder_stride"] = vision.patch_size;
  json["hidden_act"] = hf_activation_name(options.activation);
  json["hidden_dropout_prob"] = options.dropout;
  json["hidden_size"] = options.dim;
  json["image_size"] = vision.image_size;
  json["initializer_range"] = options.init_std;
  json["intermediate_size"] = options.width;
  json["layer_norm_eps"] = options.norm_epsilon;
  json["num_attention_heads"] = options.heads;
  json["num_channels"] = vision.channels;
  json["num_hidden_layers"] = options.layers;
  json["patch_size"] = vision.patch_size;
  json["pooler_act"] = "tanh";
  json["pooler_output_size"] = options.dim;
  json["qkv_bias"] = vision.qkv_bias;
}

/// Names of transformers 5.
std::string hf_module_name(const StoredTensor& tensor) {
  using Words = std::pair<std::string_view, std::string_view>;
  constexpr std::array kWords = {Words("encoder.layer.", "layers."),
                                 Words("attention.attention.query", "attention.q_proj"),
                                 Words("attention.attention.key", "attention.k_proj"),
                                 Words("attention.attention.value", "attention.v_proj"),
                                 Words("attention.output.dense", "attention.o_proj"),
                                 Words("intermediate.dense", "mlp.fc1"),
                                 Words("output.dense", "mlp.fc2")};
  auto name = tensor.name;
  for (const auto& [then, now] : kWords) {
    if (const auto at = name.find(then); at != std::string::npos) {
      name.replace(at, then.size(), now);
    }
  }
  return name;
}

std::vector<StoredTensor> vision_tensors(const ModelOptions& options) {
  const std::string prefix =
      head_of(options).is_bare ? "" : std::string(hf_names_of(options).prefix) + ".";
  WeightMapBuilder builder;
  add_embeddings(builder, options, prefix);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    add_vision_layer(builder, options, str_cat("layers.", layer, "."),
                     str_cat(prefix, "encoder.layer.", layer, "."));
  }
  builder.norm("layers.norm", prefix + "layernorm", options.dim);
  add_vision_head(builder, options);
  return std::move(builder.result);
}

/// Ignores the mask token of bare models that were saved with one.
bool is_vision_harmless(std::string_view name, const ModelOptions& options) {
  return !head_of(options).predicts_pixels && name.ends_with("embeddings.mask_token");
}

Initializer vision_initial(const std::string& parameter, const ModelOptions& options) {
  if (parameter == "embeddings.mask_token") {
    return {.kind = Initializer::Kind::kZero};
  }
  return {.init_std = options.init_std};
}

ModelOptions deit_defaults() {
  auto options = vit_defaults();
  options.vision.has_distillation_token = true;
  return options;
}

/// For images of 32 x 32 pixels.
ModelOptions vit_mini() {
  auto options = sized(vit_defaults(), {6, 192, 3});
  options.vision.image_size = 32;
  options.vision.patch_size = 4;
  return options;
}

std::vector<Preset> vit_presets() {
  const auto begin = vit_defaults();
  return {{"vit-mini", vit_mini()},
          {"vit-tiny", sized(begin, {12, 192, 3})},
          {"vit-small", sized(begin, {12, 384, 6})},
          {"vit-base", sized(begin, {12, 768, 12})},
          {"vit-large", sized(begin, {24, 1024, 16})}};
}

std::vector<Preset> deit_presets() {
  const auto begin = deit_defaults();
  return {{"deit-tiny", sized(begin, {12, 192, 3})},
          {"deit-small", sized(begin, {12, 384, 6})},
          {"deit-base", sized(begin, {12, 768, 12})}};
}

}  // namespace

FamilyDefinition vit() {
  return {.name = "vit",
          .hf_names = {{NormPlacement::kPre, "vit", "vit", "ViT"}},
          .heads = {{Head::kNone, "Model"},
                    {Head::kImage, "ForImageClassification"},
                    {Head::kMaskedImage, "ForMaskedImageModeling"}},
          .capabilities = {.has_segments = false},
          .defaults = vit_defaults,
          .presets = vit_presets,
          .read_keys = read_vision_keys,
          .read_json = read_vision_json,
          .write_json = write_vision_json,
          .tensors = vision_tensors,
          .hf_module_name = hf_module_name,
          .is_ignorable = is_vision_harmless,
          .initializer = vision_initial,
          .make = construct<Vision>,
          .reads_images = true};
}

FamilyDefinition deit() {
  auto made = vit();
  made.name = "deit";
  made.hf_names = {{NormPlacement::kPre, "deit", "deit", "DeiT"}};
  made.heads.insert(made.heads.begin() + 2,
                    {Head::kDistilledImage, "ForImageClassificationWithTeacher"});
  made.defaults = deit_defaults;
  made.presets = deit_presets;
  return made;
}

}  // namespace weft::models
