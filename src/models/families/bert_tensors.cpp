#include <utility>

#include "base/string_util.h"
#include "models/config/heads.h"
#include "models/families/bert_kind.h"
#include "models/weights/weight_map_builder.h"

namespace weft::models::bert_family {

namespace {

/// The tensors of a model, whose options outlive it.
class BertTensors {
 public:
  BertTensors(const ModelOptions& options, const WeightNames& names)
      : options_(options), names_(names), prefix_(prefix_of(options)) {}

  std::vector<StoredTensor> operator()() {
    embeddings();
    for (int64_t layer = 0; layer < distinct_layers(options_); ++layer) {
      this->layer(layer);
      if (layer == 0 && options_.input_convolution) {
        input_convolution();
      }
    }
    if (is_pre_norm()) {
      norm("layers.norm", prefix_ + std::string(names_.final_norm));
    }
    if (has_pooler(options_)) {
      builder_.linear("pooler.dense", prefix_ + std::string(names_.pooler),
                      {.inputs = options_.dim, .outputs = options_.dim, .part = Part::kPooler});
    }
    head();
    return std::move(builder_.result);
  }

 private:
  static std::string prefix_of(const ModelOptions& options) {
    return head_of(options).is_bare ? "" : str_cat(hf_names_of(options).prefix, ".");
  }

  bool is_pre_norm() const { return options_.norm_placement == NormPlacement::kPre; }

  void norm(const std::string& parameter, const std::string& hf_name) {
    builder_.norm(parameter, hf_name, options_.dim, options_.biases.norm);
  }

  void embeddings() {
    const int64_t width = embedding_width(options_);
    const auto table = [&](const std::string& parameter, std::string_view hf_name, int64_t rows) {
      if (!hf_name.empty()) {
        builder_.table("embeddings." + parameter, str_cat(prefix_, hf_name), {rows, width});
      }
    };
    table("word", names_.word, options_.vocabulary);
    if (options_.has_position_embeddings) {
      table("position", names_.position, position_offset(options_) + options_.length);
    }
    table("segment", names_.segment, options_.type_vocab_size);
    builder_.norm("embeddings.norm", str_cat(prefix_, names_.embedding_norm), width,
                  options_.biases.norm);
    if (width != options_.dim) {
      builder_.linear("projection", str_cat(prefix_, names_.projection), {width, options_.dim});
    }
    distances();
  }

  void distances() {
    if (!options_.disentangled) {
      return;
    }
    builder_.table("layers.distances", str_cat(prefix_, names_.distances),
                   {2 * nn::distance_span(*options_.disentangled), options_.dim});
    if (options_.disentangled->has_norm) {
      norm("layers.distances.norm", str_cat(prefix_, names_.distance_norm));
    }
  }

  void input_convolution() {
    const auto& own = *options_.input_convolution;
    const auto name = str_cat(prefix_, names_.input_convolution);
    builder_.table("layers.input_convolution", name,
                   {options_.dim, options_.dim / own.groups, own.kernel});
    builder_.result.push_back({.parameter = "layers.input_convolution.bias",
                               .name = name + ".bias",
                               .shape = {options_.dim}});
    norm("layers.input_convolution.norm", str_cat(prefix_, names_.input_convolution_norm));
  }

  void layer(int64_t index) {
    const auto parameter = str_cat("layers.", index, ".");
    const auto hf_name = str_cat(prefix_, names_.layers, index, names_.layer_end);
    const bool has_first_norm = index > 0 || capabilities_of(options_.family).has_first_norm;
    if (is_pre_norm() && has_first_norm) {
      norm(parameter + "attention_norm", str_cat(hf_name, names_.pre_attention_norm));
    }
    attention(parameter, hf_name);
    if (!is_pre_norm()) {
      norm(parameter + "attention_norm", str_cat(hf_name, names_.attention_norm));
    } else {
      norm(parameter + "feed_forward_norm", str_cat(hf_name, names_.pre_feed_forward_norm));
    }
    const bool has_bias = options_.biases.feed_forward;
    builder_.linear(
        parameter + "feed_forward.up", str_cat(hf_name, names_.up),
        {options_.dim, options_.is_gated ? 2 * options_.width : options_.width, has_bias});
    builder_.linear(parameter + "feed_forward.down", str_cat(hf_name, names_.down),
                    {options_.width, options_.dim, has_bias});
    if (!is_pre_norm()) {
      norm(parameter + "feed_forward_norm", str_cat(hf_name, names_.feed_forward_norm));
    }
  }

  void attention(const std::string& parameter, const std::string& hf_name) {
    const int64_t dim = options_.dim;
    const bool has_bias = options_.biases.attention;
    if (!names_.fused_query_key_value.empty()) {
      builder_.linear(parameter + "attention.qkv", str_cat(hf_name, names_.fused_query_key_value),
                      {dim, 3 * dim, has_bias});
    } else if (!names_.interleaved_query_key_value.empty()) {
      interleaved(parameter + "attention.qkv", hf_name);
    } else {
      projections(parameter + "attention.qkv", hf_name, names_.query_key_value);
    }
    if (!names_.global_query_key_value.front().empty()) {
      projections(parameter + "attention.global_qkv", hf_name, names_.global_query_key_value);
    }
    if (options_.disentangled && !options_.disentangled->scores.shares_projections) {
      const auto& scores = options_.disentangled->scores;
      const auto projection = [&](bool is_used, bool has_own_bias, const char* own,
                                  std::string_view name) {
        if (is_used) {
          builder_.linear(parameter + "attention.distances." + own, str_cat(hf_name, name),
                          {dim, dim, has_own_bias});
        }
      };
      projection(scores.content_to_position, scores.has_key_bias, "key", names_.distance_key);
      projection(scores.position_to_content, true, "query", names_.distance_query);
    }
    if (!names_.attention_convolution.empty()) {
      builder_.result.push_back({.parameter = parameter + "attention.core.convolution",
                                 .name = str_cat(hf_name, names_.attention_convolution, ".weight"),
                                 .shape = {options_.heads, 1, options_.nystrom.convolution, 1}});
    }
    builder_.linear(parameter + "attention.output", str_cat(hf_name, names_.attention_output),
                    {dim, dim, has_bias});
  }

  /// One matrix with the rows of each head together, and the biases of queries and values.
  void interleaved(const std::string& parameter, const std::string& hf_name) {
    builder_.linear(parameter, str_cat(hf_name, names_.interleaved_query_key_value),
                    {.inputs = options_.dim,
                     .outputs = 3 * options_.dim,
                     .has_bias = false,
                     .interleaved_heads = options_.heads});
    int64_t first = 0;
    for (const auto name : {names_.query_bias, names_.value_bias}) {
      builder_.result.push_back({.parameter = parameter + ".bias",
                                 .name = str_cat(hf_name, name),
                                 .shape = {options_.dim},
                                 .first_row = first});
      first += options_.dim;
    }
  }

  /// Query, key and value of one module.
  void projections(const std::string& parameter,
                   const std::string& hf_name,
                   const std::array<std::string_view, 3>& names) {
    int64_t first = 0;
    for (const auto name : names) {
      builder_.linear(parameter, str_cat(hf_name, name),
                      {options_.dim, options_.dim, options_.biases.attention, first});
      first += options_.dim;
    }
  }

  void head() {
    const auto& head = head_of(options_);
    if (head.predicts_tokens) {
      masked_lm();
    }
    if (head.predicts_next_sentence) {
      builder_.linear("next_sentence", "cls.seq_relationship",
                      {.inputs = options_.dim, .outputs = head.fixed_outputs, .part = Part::kHead});
    }
    if (head.classifies_sequences) {
      classifier(names_.sequence_dense, names_.sequence);
    } else if (head.classifies_tokens) {
      classifier({}, names_.token);
    } else if (head.predicts_spans) {
      classifier({}, names_.span);
    } else if (head.detects_replaced_tokens) {
      classifier(names_.replaced_dense, names_.replaced);
    }
  }

  /// Dense layer and norm at the start of a head. Layers that all heads share are like a pooler:
  /// their weights transfer to another head.
  void transform(std::string_view dense, std::string_view norm_name, int64_t width) {
    const auto part = names_.dense.empty() ? Part::kHead : Part::kPooler;
    const auto name = names_.dense.empty() ? dense : names_.dense;
    if (!name.empty()) {
      builder_.linear("head.dense", std::string(name),
                      {.inputs = options_.dim,
                       .outputs = width,
                       .has_bias = options_.biases.head,
                       .part = part});
    }
    const auto of_norm = names_.norm.empty() ? norm_name : names_.norm;
    if (!of_norm.empty()) {
      builder_.norm("head.norm", std::string(of_norm), width, options_.biases.norm, part);
    }
  }

  void masked_lm() {
    const int64_t width = embedding_width(options_);
    transform(names_.mlm_dense, names_.mlm_norm, width);
    // A tied decoder is the word embedding and is not stored; for an untied one transformers may
    // store the bias a second time.
    if (!options_.tie_word_embeddings) {
      builder_.table("head.decoder", std::string(names_.mlm_decoder), {options_.vocabulary, width},
                     Part::kHead);
    }
    if (options_.biases.mlm_output) {
      const bool is_stored_twice = !options_.tie_word_embeddings && !names_.bias_copy.empty();
      builder_.result.push_back(
          {.parameter = "head.bias",
           .name = std::string(is_stored_twice ? names_.bias_copy : names_.mlm_bias),
           .shape = {options_.vocabulary},
           .part = Part::kHead,
           .duplicate_name = std::string(is_stored_twice ? names_.mlm_bias : "")});
    }
  }

  void classifier(std::string_view dense, std::string_view output) {
    transform(dense, {}, options_.dim);
    builder_.linear(
        "head.output", std::string(output),
        {.inputs = options_.dim, .outputs = head_outputs(options_), .part = Part::kHead});
  }

  const ModelOptions& options_;
  const WeightNames& names_;
  std::string prefix_;
  WeightMapBuilder builder_;
};

}  // namespace

std::vector<StoredTensor> tensors(const ModelOptions& options, const WeightNames& names) {
  return BertTensors(options, names)();
}

}  // namespace weft::models::bert_family
