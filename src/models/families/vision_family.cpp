#include "models/families/vision_family.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "models/config/stack_json.h"
#include "models/config/stack_keys.h"
#include "models/vision.h"
#include "models/weights/stored_builder.h"

namespace weft::models::vision_family {

namespace {

constexpr int64_t kLargestImage = 1 << 15;
constexpr int64_t kMostGrid = 1 << 12;  // patches of a side
constexpr std::string_view kVisionOnly = "type: vit or deit";

/// A convolution is stored with the shape of its kernel; here it is a matrix.
void add_convolution(StoredBuilder& builder,
                     const std::string& ours,
                     const std::string& stored,
                     const std::vector<int64_t>& shape,
                     Part part) {
  builder.table(ours, stored, shape, part);
  builder.result.push_back({.parameter = ours + ".bias",
                            .name = stored + ".bias",
                            .shape = {shape.front()},
                            .part = part});
}

void add_embeddings(StoredBuilder& builder,
                    const ModelOptions& options,
                    const std::string& prefix) {
  const auto& vision = options.vision;
  const auto add = [&](const std::string& ours, const std::string& stored, int64_t rows) {
    builder.result.push_back({.parameter = "embeddings." + ours,
                              .name = prefix + "embeddings." + stored,
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
  if (options.head == Head::kMaskedImage) {
    add("mask_token", "mask_token", 1);
    builder.result.back().part = Part::kHead;  // other heads hide nothing
  }
  add("position", "position_embeddings", own + vision.grid() * vision.grid());
  add_convolution(builder, "embeddings.projection",
                  prefix + "embeddings.patch_embeddings.projection",
                  {options.dim, vision.channels, vision.patch, vision.patch}, Part::kBackbone);
}

void add_vision_layer(StoredBuilder& builder,
                      const ModelOptions& options,
                      const std::string& ours,
                      const std::string& stored) {
  const int64_t dim = options.dim;
  builder.norm(ours + "attention_norm", stored + "layernorm_before", dim);
  int64_t first = 0;
  for (const auto* name : {"query", "key", "value"}) {
    builder.linear(ours + "attention.qkv", stored + "attention.attention." + name,
                   {dim, dim, options.vision.query_key_value_bias, first});
    first += dim;
  }
  builder.linear(ours + "attention.output", stored + "attention.output.dense", {dim, dim});
  builder.norm(ours + "feed_forward_norm", stored + "layernorm_after", dim);
  builder.linear(ours + "feed_forward.up", stored + "intermediate.dense", {dim, options.width});
  builder.linear(ours + "feed_forward.down", stored + "output.dense", {options.width, dim});
}

void add_vision_head(StoredBuilder& builder, const ModelOptions& options) {
  const auto linear = [&](const std::string& ours, const std::string& stored) {
    builder.linear(ours, stored,
                   {.inputs = options.dim, .outputs = head_outputs(options), .part = Part::kHead});
  };
  switch (options.head) {
    case Head::kNone:
      return builder.linear("pooler.dense", "pooler.dense",
                            {.inputs = options.dim, .outputs = options.dim, .part = Part::kPooler});
    case Head::kImage:
      return linear("head", "classifier");
    case Head::kTaughtImage:
      linear("head", "cls_classifier");
      return linear("distillation_head", "distillation_classifier");
    case Head::kMaskedImage:
      return add_convolution(builder, "head", "decoder.0",
                             {options.vision.patch_width(), options.dim, 1, 1}, Part::kHead);
    case Head::kMaskedLm:
    case Head::kPretraining:
    case Head::kNextSentence:
    case Head::kSequence:
    case Head::kToken:
    case Head::kSpan:
    case Head::kReplacedToken:
    case Head::kCausalLm:
    case Head::kConditional:
      return;
  }
}

}  // namespace

ModelOptions defaults(Family family) {
  ModelOptions options;
  options.family = family;
  options.segments = 0;
  options.norm_place = NormPlace::kPre;
  options.norm_epsilon = 1e-12;
  options.dropout = 0;
  options.attention_dropout = 0;
  options.ties_embeddings = false;
  options.pad_id = -1;
  options.vision.image_size = 224;
  options.vision.has_distillation_token = family == Family::kDeit;
  return options;
}

namespace {

void read_vision_keys(config::Section& section, ModelOptions& options, const ModelOptions* base) {
  read_stack_keys(section, options, base,
                  {.only = kVisionOnly, .has_length = false, .has_ties = false});
  auto& vision = options.vision;
  section.read("image_size", vision.image_size,
               {.help = "Height and width of the images, a whole number of patches; with init_from "
                        "another size than the model's makes it anew for that size, its positions "
                        "interpolated.",
                .unit = "pixels",
                .range = config::between(1, static_cast<double>(kLargestImage)),
                .only = kVisionOnly});
  section.read("patch", vision.patch,
               {.help = "Height and width of a patch.",
                .unit = "pixels",
                .range = config::between(1, 1024),
                .only = kVisionOnly});
  section.read("channels", vision.channels,
               {.help = "Channels of the images: 1 (grey) or 3 (colours); images that have others "
                        "are converted.",
                .range = config::between(1, 3),
                .only = kVisionOnly});
  section.read("query_key_value_bias", vision.query_key_value_bias,
               {.help = "Whether queries, keys and values have biases.", .only = kVisionOnly});
  section.read("path_dropout", vision.path_dropout,
               {.help = "Stochastic depth (arXiv:1603.09382): share of the images for which the "
                        "last layer's sub-layers are left out in training; less in those before.",
                .range = config::from_to_below(0, 1),
                .only = kVisionOnly});
  if (section.is_describing()) {
    return;
  }
  if (vision.channels == 2) {
    section.fail("channels", "2, allowed are 1 and 3");
  }
  if (vision.image_size % vision.patch != 0 || vision.grid() > kMostGrid) {
    section.fail("image_size", text(vision.image_size, " pixels are no whole number of patches of ",
                                    vision.patch, " (at most ", kMostGrid, ")"));
  }
  if (base != nullptr) {
    keep_same(section, "patch", vision.patch == base->vision.patch);
    keep_same(section, "channels", vision.channels == base->vision.channels);
    keep_same(section, "query_key_value_bias",
              vision.query_key_value_bias == base->vision.query_key_value_bias);
  }
  options.length = vision.grid() * vision.grid() + 2;
}

/// A side of images or patches: one number, or twice the same in a list.
void read_side(const JsonFields& fields, std::string_view key, int64_t& side) {
  if (fields.has(key) && fields.at(key).is_array()) {
    const auto& list = fields.at(key);
    const bool is_square = list.size() == 2 && list[0] == list[1] && list[0].is_number_integer() &&
                           list[0] > 0 && list[0] <= kLargestImage;
    if (!is_square) {
      fields.fail(key, "must be one size, or twice the same: images are square here");
    }
    side = list[0].get<int64_t>();
    return;
  }
  fields.read_size(key, side, kLargestImage);
}

void read_vision_json(const JsonFields& fields, ModelOptions& options) {
  const auto head = options.head;
  options = begun(options, defaults(options.family));
  fields.read_size("hidden_size", options.dim, kMostFeatures);
  fields.read_size("num_hidden_layers", options.layers, kMostLayers);
  fields.read_size("num_attention_heads", options.heads, kMostFeatures);
  fields.read_size("intermediate_size", options.width, kMostFeatures);
  demand_whole_heads(fields, options);
  read_activation(fields, "hidden_act", options.activation);
  fields.read("layer_norm_eps", options.norm_epsilon, 0.0, 1.0);
  fields.read("initializer_range", options.deviation, 0.0, 100.0);
  fields.read("hidden_dropout_prob", options.dropout, 0.0, 1.0);
  fields.read("attention_probs_dropout_prob", options.attention_dropout, 0.0, 1.0);
  auto& vision = options.vision;
  read_side(fields, "image_size", vision.image_size);
  read_side(fields, "patch_size", vision.patch);
  fields.read("num_channels", vision.channels, 1, 3);
  fields.read("qkv_bias", vision.query_key_value_bias);
  fields.read("drop_path_rate", vision.path_dropout, 0.0, 1.0);
  if (vision.image_size % vision.patch != 0 || vision.grid() > kMostGrid) {
    fields.fail("image_size", text(vision.image_size, " is no whole number of patches of ",
                                   vision.patch, " (at most ", kMostGrid, ")"));
  }
  int64_t stride = vision.patch;
  fields.read("encoder_stride", stride, 1, kLargestImage);
  if (head == Head::kMaskedImage && stride != vision.patch) {
    fields.fail("encoder_stride", text("found ", stride, ", must be patch_size, ", vision.patch));
  }
  int64_t pooled = options.dim;
  fields.read("pooler_output_size", pooled, 1, kMostFeatures);
  if (head == Head::kNone && pooled != options.dim) {
    fields.fail("pooler_output_size",
                text("found ", pooled, ", must be hidden_size, ", options.dim));
  }
  std::string activation = "tanh";
  fields.read("pooler_act", activation);
  if (head == Head::kNone && activation != "tanh") {
    fields.fail("pooler_act", "found '" + activation.substr(0, 80) + "', allowed is 'tanh'");
  }
  options.length = vision.grid() * vision.grid() + 2;
}

void write_vision_json(formats::Json& json, const ModelOptions& options) {
  const auto& vision = options.vision;
  json["attention_probs_dropout_prob"] = options.attention_dropout;
  json["encoder_stride"] = vision.patch;
  json["hidden_act"] = stored_activation(options.activation);
  json["hidden_dropout_prob"] = options.dropout;
  json["hidden_size"] = options.dim;
  json["image_size"] = vision.image_size;
  json["initializer_range"] = options.deviation;
  json["intermediate_size"] = options.width;
  json["layer_norm_eps"] = options.norm_epsilon;
  json["num_attention_heads"] = options.heads;
  json["num_channels"] = vision.channels;
  json["num_hidden_layers"] = options.layers;
  json["patch_size"] = vision.patch;
  json["pooler_act"] = "tanh";
  json["pooler_output_size"] = options.dim;
  json["qkv_bias"] = vision.query_key_value_bias;
  if (vision.path_dropout > 0) {
    json["drop_path_rate"] = vision.path_dropout;  // a key of ours, which others pass over
  }
}

/// As transformers 5 has it.
std::string name_in_module(const StoredTensor& tensor) {
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
      options.head == Head::kNone ? "" : std::string(facts_of(options).prefix) + ".";
  StoredBuilder builder;
  add_embeddings(builder, options, prefix);
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    add_vision_layer(builder, options, text("layers.", layer, "."),
                     text(prefix, "encoder.layer.", layer, "."));
  }
  builder.norm("layers.norm", prefix + "layernorm", options.dim);
  add_vision_head(builder, options);
  return std::move(builder.result);
}

/// The bare model's token for hidden patches, where it was saved with one.
bool is_vision_harmless(std::string_view name, const ModelOptions& options) {
  return options.head != Head::kMaskedImage && name.ends_with("embeddings.mask_token");
}

InitialValues vision_initial(const std::string& parameter, const ModelOptions& options) {
  if (parameter == "embeddings.mask_token") {
    return {.kind = InitialValues::Kind::kZero};
  }
  return {.deviation = options.deviation};
}

}  // namespace

FamilyDefinition definition(const FamilyFacts& facts) {
  return {.word = facts.model_type,
          .facts = facts,
          .heads = {{Head::kNone, "Model"},
                    {Head::kImage, "ForImageClassification"},
                    {Head::kMaskedImage, "ForMaskedImageModeling"}},
          .traits = {.has_segments = false},
          .read_keys = read_vision_keys,
          .read_json = read_vision_json,
          .write_json = write_vision_json,
          .tensors = vision_tensors,
          .name_in_module = name_in_module,
          .is_harmless = is_vision_harmless,
          .initial = vision_initial,
          .make = construct<Vision>,
          .reads_images = true};
}

}  // namespace weft::models::vision_family
