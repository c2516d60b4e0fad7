#include "models/config/shared_model_keys.h"

#include <algorithm>
#include <iterator>

#include "base/string_util.h"
#include "models/config/choice_json.h"
#include "models/config/family_definition.h"
#include "models/config/layer_type_keys.h"
#include "models/config/stack_keys.h"
#include "nn/attention/attention.h"

namespace weft::models {

namespace {

using config::Section;

/// Returns the choices whose value is in `kept`.
template <class Enum>
config::Choices<Enum> those_of(const config::Choices<Enum>& all, const std::vector<Enum>& kept) {
  config::Choices<Enum> result;
  std::copy_if(all.begin(), all.end(), std::back_inserter(result), [&](const auto& choice) {
    return std::find(kept.begin(), kept.end(), choice.second) != kept.end();
  });
  return result;
}

/// Reads the keys of one family into its options.
class Reader {
 public:
  Reader(ModelOptions& options, const ModelOptions* base, const SharedModelKeys& keys)
      : options_(options), base_(base), keys_(keys) {}

  void operator()(Section& section) {
    sizes(section);
    dropouts(section);
    attention(LayerPartSection(section, "attention", {.help = "The attention of the layers."}));
    position(LayerPartSection(section, "position", {.help = "Position encoding."}));
    feed_forward(LayerPartSection(section, "feed_forward",
                                  {.help = "The position-wise feed-forward of the layers."}));
    read_block(section, stacks(), options_.layer_types);
    read_sharing(section.section("sharing", {.help = "Layers that share their parameters."}),
                 stacks(), options_);
    read_halting(section, options_);
    read_layer_mix(section, options_.layer_types);
    if (keys_.has_residual) {
      read_residual(section, options_.layer_types);
    }
    read_stochastic_depth(section, options_);
    norm(section.section("norm", {.help = "The norms of the stack."}));
    models::require_unchanged(section, "attention",
                              base_ == nullptr || options_.layer_types == base_->layer_types);
    section.read(
        "init_std", options_.init_std,
        {.help = "Standard deviation of the normal distribution that initialises weight matrices.",
         .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
    if (!keys_.pooling.empty()) {
      read_pooling_type(section, keys_.pooling, options_.layer_types);
    }
    if (keys_.has_embedding) {
      read_embedding_type(section, options_, base_);
    }
    if (keys_.has_output) {
      read_output_type(section.section("output", {.help = "The output layer of language models."}),
                       options_.layer_types);
      models::require_unchanged(
          section, "output",
          base_ == nullptr || options_.layer_types.output == base_->layer_types.output);
    }
    read_ties(section, options_, base_, keys_.has_ties);
    check_residual(section, options_);
  }

 private:
  template <class Value>
  void require_unchanged(const Section& section,
                         std::string_view key,
                         Value ModelOptions::*field) const {
    if (base_ != nullptr) {
      models::require_unchanged(section, key, options_.*field, base_->*field);
    }
  }
  template <class Part, class Value>
  void require_unchanged(const Section& section,
                         std::string_view key,
                         Part ModelOptions::*part,
                         Value Part::*field) const {
    if (base_ != nullptr) {
      models::require_unchanged(section, key, options_.*part.*field, base_->*part.*field);
    }
  }

  void sizes(Section& section) {
    section.read("dim", options_.dim,
                 {.help = "Hidden size of the model.",
                  .unit = "features",
                  .range = config::between(1, 65536)});
    if (base_ == nullptr && section.has("dim")) {
      options_.width = options_.dim * keys_.half_dims_of_width / 2;
    }
    require_unchanged(section, "dim", &ModelOptions::dim);
    if (!keys_.has_layers) {
      return;
    }
    section.read("layers", options_.layers,
                 {.help = "Number of transformer layers.",
                  .unit = "layers",
                  .range = config::between(1, 1024)});
    require_unchanged(section, "layers", &ModelOptions::layers);
  }

  void dropouts(Section& section) {
    if (!keys_.has_dropout) {
      return;
    }
    section.read("dropout", options_.dropout,
                 {.help = "Dropout probability of hidden features; also the default for attention "
                          "and embedding dropout.",
                  .range = config::half_open(0, 1)});
    if (section.has("dropout")) {
      options_.attention_dropout = options_.dropout;
      options_.embedding_dropout = options_.dropout;
      if (keys_.has_activation_dropout) {
        options_.activation_dropout = options_.dropout;
      }
    }
    if (keys_.has_embedding_dropout) {
      section.read(
          "embedding_dropout", options_.embedding_dropout,
          {.help = "Dropout probability of the embeddings.", .range = config::half_open(0, 1)});
    }
    section.read(
        "classifier_dropout", options_.classifier_dropout,
        {.help = "Dropout probability before the classifier. null: same as `dropout`, or as in the "
                 "published model.",
         .range = config::half_open(0, 1)});
  }

  void heads(Section& section) {
    section.read("heads", options_.heads,
                 {.help = "Number of attention heads; must divide dim.",
                  .unit = "heads",
                  .range = config::between(1, 1024)});
    require_unchanged(section, "heads", &ModelOptions::heads);
    if (keys_.has_grouped_heads) {
      section.read("key_value_heads", options_.key_value_heads,
                   {.help = "Number of key/value heads for grouped-query attention (GQA, "
                            "arXiv:2305.13245); must divide heads. 0: same as heads.",
                    .unit = "heads",
                    .range = config::between(0, 1024)});
      require_unchanged(section, "key_value_heads", &ModelOptions::key_value_heads);
    }
    if (keys_.has_grouped_heads || keys_.has_head_dim) {
      section.read("head_dim", options_.head_dim,
                   {.help = "Head size. 0: dim / heads.",
                    .unit = "features",
                    .range = config::between(0, 1024)});
      require_unchanged(section, "head_dim", &ModelOptions::head_dim);
    }
    if (options_.heads % key_value_heads(options_) != 0) {
      section.fail("key_value_heads",
                   str_cat(options_.key_value_heads, " does not divide heads ", options_.heads));
    }
    if (options_.head_dim == 0 && options_.dim % options_.heads != 0) {
      section.fail("heads", str_cat(options_.heads, " does not divide dim ", options_.dim));
    }
  }

  void attention(LayerPartSection part) {
    auto& section = part.shared();
    heads(section);
    section.read("dropout", options_.attention_dropout,
                 {.help = "Dropout probability of the attention weights.",
                  .range = config::half_open(0, 1)});
    if (keys_.read_window) {
      keys_.read_window(part, options_, base_);
    } else {
      window(part);
    }
    if (keys_.has_layer_scale) {
      section.read("scale_attn_by_inverse_layer_idx", options_.scale_attn_by_inverse_layer_idx,
                   {.help = "Scales the attention scores of layer i by 1 / (i + 1)."});
      require_unchanged(section, "scale_attn_by_inverse_layer_idx",
                        &ModelOptions::scale_attn_by_inverse_layer_idx);
    }
    if (keys_.has_biases) {
      section.read("bias", options_.biases.attention, {.help = "Bias terms of the linear layers."});
      require_unchanged(section, "bias", &ModelOptions::biases, &BiasOptions::attention);
    }
    section.reject_unread();
  }

  void window(LayerPartSection& part) {
    auto& section = part.shared();
    auto& width = options_.window.size;
    const bool has_width =
        width > 0 || (keys_.has_window && !part.is_list() && section.has("window"));
    std::vector<std::string> types{"full"};
    if (keys_.has_window) {
      types.emplace_back("window");
    }
    const auto type = read_attention_types(
        part,
        {.family_types = types,
         .default_type = has_width && keys_.has_window ? "window" : "full",
         .layers = options_.layers,
         .help = "Which tokens a token attends to: all, a window of them, or another attention "
                 "type."},
        options_.layer_types);
    if (!keys_.has_window) {
      return;
    }
    const bool is_windowed = type == "window";
    if (type == "full" && section.has("window")) {
      section.fail("window", "has no effect with type: full");
    }
    if (!is_windowed && !section.is_documenting()) {
      width = 0;  // no number to show
    } else {
      section.read("window", width,
                   {.help = "Number of tokens that a token attends to: itself and those before it.",
                    .unit = "tokens",
                    .range = config::between(1, 1 << 20)});
    }
    if (is_windowed && width == 0) {
      section.fail("window", "missing: type: window needs a number of tokens");
    }
    require_unchanged(section, "window", &ModelOptions::window, &WindowOptions::size);
  }

  void position(LayerPartSection part) {
    auto& section = part.shared();
    const auto family_type = options_.family->positions(options_).front().type;
    const bool is_family_type = read_position_types(part, family_type, options_.layer_types);
    models::require_unchanged(
        section, "type",
        base_ == nullptr || options_.layer_types.positions == base_->layer_types.positions);
    if (keys_.has_length) {
      section.read(
          "length", options_.length,
          {.help = "Maximum sequence length of the model in tokens, including special tokens.",
           .unit = "tokens",
           .range = config::between(4, 1 << 20)});
      require_unchanged(section, "length", &ModelOptions::length);
    } else if (!is_family_type) {
      section.fail("type", str_cat("must be ", family_type, " for ", word_of(options_.family)));
    }
    if (is_family_type) {
      family_position(section);
    }
    if (section.is_documenting()) {  // after the family's keys, which have its defaults
      for (const auto& definition : nn::position_types().all()) {
        definition.read(section);
      }
    }
    section.reject_unread();
  }

  /// Further keys of the family's own type.
  void family_position(Section& section) {
    if (keys_.read_position != nullptr) {
      keys_.read_position(section, options_, base_);
    }
    if (keys_.has_sinusoids) {
      section.read("sinusoidal_init", options_.has_sinusoidal_positions,
                   {.help = "Initialises the position embeddings with sinusoids instead of random "
                            "values. They are trained in either case."});
    }
    if (keys_.has_sinusoids && keys_.has_rotary && options_.has_sinusoidal_positions) {
      section.fail("sinusoidal_init",
                   "has no effect here: rotary position embeddings have no table");
    }
    if (keys_.has_local_rotary) {
      section.read("local_rope_theta", options_.rope.local_theta,
                   {.help = "Base of the RoPE wavelengths in local (sliding-window) layers.",
                    .range = config::above(1)});
      require_unchanged(section, "local_rope_theta", &ModelOptions::rope,
                        &nn::RotaryPositionOptions::local_theta);
    }
    if (keys_.has_rotary) {
      section.read("rope_theta", options_.rope.theta,
                   {.help = "Base of the RoPE wavelengths (theta).", .range = config::above(1)});
      require_unchanged(section, "rope_theta", &ModelOptions::rope,
                        &nn::RotaryPositionOptions::theta);
      if (head_dim(options_) % 2 != 0) {
        section.fail("rope_theta",
                     str_cat("rotary position embeddings need an even head size, found ",
                             head_dim(options_)));
      }
    }
  }

  /// Layers of the model, or of encoder and decoder.
  std::vector<int64_t> stacks() const {
    return options_.decoder.layers > 0 ? std::vector{options_.layers, options_.decoder.layers}
                                       : std::vector{options_.layers};
  }

  void feed_forward(LayerPartSection part) {
    auto& section = part.shared();
    if (keys_.read_feed_forward != nullptr) {
      keys_.read_feed_forward(part, options_, base_);
    } else {
      read_feed_forward_types(part,
                              {.family_types = {"standard"},
                               .default_type = "standard",
                               .layers = options_.layers,
                               .help = "The type of the feed-forward."},
                              options_.layer_types);
    }
    section.read("width", options_.width,
                 {.help = str_cat("Intermediate size of the feed-forward layer. Default: ",
                                  static_cast<double>(keys_.half_dims_of_width) / 2,
                                  " * dim if dim is given."),
                  .unit = "features",
                  .range = config::between(1, 1 << 20)});
    require_unchanged(section, "width", &ModelOptions::width);
    if (keys_.has_activation) {
      section.read_choice("activation", options_.activation, activations(),
                          {.help = "Activation function of the feed-forward layer."});
      require_unchanged(section, "activation", &ModelOptions::activation);
    }
    if (keys_.has_biases) {
      section.read("bias", options_.biases.feed_forward,
                   {.help = "Bias terms of the linear layers."});
      require_unchanged(section, "bias", &ModelOptions::biases, &BiasOptions::feed_forward);
    }
    if (keys_.has_activation_dropout) {
      section.read("dropout", options_.activation_dropout,
                   {.help = "Dropout on the activations of the feed-forward layer.",
                    .range = config::half_open(0, 1)});
    }
    section.reject_unread();
  }

  void norm(Section section) {
    read_norm_type(section, options_.family->norm_type, options_.layer_types);
    models::require_unchanged(
        section, "type", base_ == nullptr || options_.layer_types.norm == base_->layer_types.norm);
    auto& own = options_.layer_types.norm_place;
    auto place = own.value_or(options_.norm_placement);
    std::vector places{NormPlacement::kSandwich, NormPlacement::kNone};
    for (const auto& names : options_.family->hf_names) {
      places.push_back(names.norm_placement);
    }
    section.read_choice(
        "place", place, those_of(norm_placements(), places),
        {.help = "Position of the normalization: after the residual connection (post), before "
                 "each sub-layer (pre), before and after it (sandwich) or nowhere (none). "
                 "transformers "
                 "has no pre-norm BERT and no post-norm GPT-2."});
    own.reset();
    if (place == NormPlacement::kSandwich || place == NormPlacement::kNone) {
      own = place;
    } else {
      options_.norm_placement = place;
    }
    require_unchanged(section, "place", &ModelOptions::norm_placement);
    section.read("epsilon", options_.norm_epsilon,
                 {.help = "Epsilon added to the variance.",
                  .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
    require_unchanged(section, "epsilon", &ModelOptions::norm_epsilon);
    if (keys_.has_norm_bias) {
      section.read("bias", options_.biases.norm, {.help = "Bias terms of the norms."});
      require_unchanged(section, "bias", &ModelOptions::biases, &BiasOptions::norm);
    }
    section.reject_unread();
  }

  ModelOptions& options_;
  const ModelOptions* base_;
  const SharedModelKeys& keys_;
};

}  // namespace

void read_shared_model_keys(Section& section,
                            ModelOptions& options,
                            const ModelOptions* base,
                            const SharedModelKeys& keys) {
  Reader(options, base, keys)(section);
}

std::string shown_option(kernels::Activation value) { return choice_word(activations(), value); }
std::string shown_option(NormPlacement value) { return choice_word(norm_placements(), value); }

void require_unchanged(const Section& section, std::string_view key, bool is_same) {
  if (!is_same) {
    section.fail(key, "contradicts the model in init_from; omit it");
  }
}

}  // namespace weft::models
