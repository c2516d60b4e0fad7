#include <algorithm>
#include <utility>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/families/bert_kind.h"
#include "models/families/families.h"
#include "nn/attention/attention_types.h"

namespace weft::models {

namespace {

using kernels::Activation;

constexpr int64_t kMostWindow = 1 << 20;
constexpr int64_t kUsualWindow = 512;  // without another number

/// The published models (arXiv:2004.05150, section 5).
ModelOptions longformer_defaults() {
  ModelOptions options;
  options.type_vocab_size = 1;
  options.norm_epsilon = 1e-5;
  options.pad_id = 1;
  options.length = 4096;
  options.window.size = kUsualWindow;
  return options;
}

std::vector<Preset> longformer_presets() {
  const auto begin = longformer_defaults();
  return {{"longformer-mini", sized(begin, {4, 256, 4})},
          {"longformer-base", sized(begin, {12, 768, 12})},
          {"longformer-large", sized(begin, {24, 1024, 16})}};
}

/// Values of absent config.json keys.
ModelOptions absent_longformer() {
  ModelOptions options;
  options.vocabulary = 30522;
  options.pad_id = 1;
  options.bos_id = 0;
  options.eos_id = 2;
  options.window.size = kUsualWindow;
  return options;
}

int64_t window_of(const ModelOptions& options, int64_t layer) {
  const auto& sizes = options.window.layer_sizes;
  if (!sizes.empty()) {
    return sizes[static_cast<std::size_t>(layer)];
  }
  return options.window.size > 0 ? options.window.size : kUsualWindow;
}

/// The classification token sees all and is seen by all, as in transformers.
nn::AttentionMaker longformer_attention_of(const ModelOptions& options, int64_t layer) {
  const nn::LongformerOptions own{.window = window_of(options, layer),
                                  .global_tokens = head_of(options).classifies_sequences ? 1 : 0};
  return [own](const nn::AttentionOptions& attention) {
    return nn::make_longformer_attention(attention, own);
  };
}

void read_longformer_window(LayerPartSection& part,
                            ModelOptions& options,
                            const ModelOptions* /*base*/) {
  auto& section = part.shared();
  const auto type = read_attention_types(
      part,
      {.family_types = {"longformer"},
       .default_type = "longformer",
       .layers = options.layers,
       .help = "Which tokens a token attends to: a window and, in classifiers, the first token; or "
               "another attention type."},
      options.layer_types);
  if (type != "longformer" && !section.is_documenting()) {
    return;
  }
  const auto before = options.window.size;
  section.read("window", options.window.size,
               {.help = "Tokens around each token that it attends to, half of them on each side.",
                .unit = "tokens",
                .range = config::between(1, kMostWindow)});
  if (options.window.size != before) {
    options.window.layer_sizes.clear();
  }
}

/// One window for all layers, or one for each; two-sided.
void read_longformer_json(const JsonFields& fields, ModelOptions& options) {
  if (!fields.has("attention_window")) {
    return;
  }
  const auto& given = fields.at("attention_window");
  if (!given.is_array()) {
    fields.read("attention_window", options.window.size, 1, kMostWindow);
    return;
  }
  if (static_cast<int64_t>(given.size()) != options.layers) {
    fields.fail("attention_window",
                str_cat("found ", given.size(), " windows for ", options.layers, " layers"));
  }
  std::vector<int64_t> sizes;
  for (const auto& size : given) {
    const auto number = size.is_number_integer() ? size.get<int64_t>() : 0;
    if (number < 1 || number > kMostWindow) {
      fields.fail("attention_window",
                  str_cat("found ", printable(size.dump()),
                          ", allowed are whole numbers from 1 to ", kMostWindow));
    }
    sizes.push_back(number);
  }
  options.window.size = sizes.empty() ? options.window.size : sizes.front();
  const bool are_equal =
      std::ranges::all_of(sizes, [&](int64_t size) { return size == options.window.size; });
  options.window.layer_sizes = are_equal ? std::vector<int64_t>() : sizes;
}

void write_longformer_json(formats::Json& json, const ModelOptions& options) {
  auto sizes = formats::Json::array();
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    sizes.push_back(window_of(options, layer));
  }
  json["attention_window"] = std::move(sizes);
}

bert_family::WeightNames longformer_names() {
  auto names = bert_family::kRobertaNames;
  names.global_query_key_value = {"attention.self.query_global", "attention.self.key_global",
                                  "attention.self.value_global"};
  return names;
}

/// The projections of global tokens start as copies of those of the others.
Initializer longformer_initializer(const std::string& parameter, const ModelOptions& options) {
  auto values = bert_family::initializer(parameter, options);
  constexpr std::string_view kGlobal = "attention.global_qkv.weight";
  if (parameter.ends_with(kGlobal)) {
    values.same_as =
        parameter.substr(0, parameter.size() - kGlobal.size()) + "attention.qkv.weight";
  }
  return values;
}

}  // namespace

FamilyDefinition longformer() {
  auto made =
      bert_family::definition({NormPlacement::kPost, "longformer", "longformer", "Longformer"},
                              {.positions_start_after_pad_id = true,
                               .classifier_activation = Activation::kTanh,
                               .mlm_activation = Activation::kGelu},
                              longformer_names());
  // Answers of a question would need all of its tokens to be global.
  std::erase_if(made.heads, [](const HfHeadName& head) { return head.head == Head::kSpan; });
  made.defaults = longformer_defaults;
  made.presets = longformer_presets;
  made.read_keys = [](auto& section, auto& options, const auto* base) {
    bert_family::read_keys(
        section, options, base,
        {.pooling = "cls", .has_sinusoids = true, .read_window = read_longformer_window});
  };
  bert_family::set_json(made, absent_longformer,
                        {.read_more = read_longformer_json, .write_more = write_longformer_json});
  made.initializer = longformer_initializer;
  made.attention = longformer_attention_of;
  made.style = formats::TokenizerTemplate::kRoberta;
  return made;
}

}  // namespace weft::models
