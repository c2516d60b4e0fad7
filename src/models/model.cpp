#include "models/model.h"

#include <algorithm>
#include <utility>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "models/config/family.h"

namespace weft::models {

namespace {

void count_tokens(std::span<const int64_t> tokens, std::vector<int64_t>& counts) {
  for (const auto token : tokens) {
    ++counts.at(static_cast<std::size_t>(token));
  }
}

void count_embedded(const TrainingSequence& sequence,
                    const EmbeddedTokens& tokens,
                    std::vector<int64_t>& counts) {
  const bool has_own_source = tokens.has_source && !sequence.source.empty();
  if (has_own_source) {
    count_tokens(sequence.source, counts);
  }
  if (tokens.has_input || (tokens.has_source && !has_own_source)) {
    count_tokens(sequence.ids, counts);
  }
  if (tokens.has_targets) {
    count_tokens(sequence.targets, counts);
  }
}

}  // namespace

at::Device Model::device() const {
  const auto all = parameters();
  return all.empty() ? at::Device(at::kCPU) : all.front().device();
}

void Model::register_output_layer(const LayerTypes& types, const nn::OutputOptions& sizes) {
  if (const auto& type = types.output) {
    output_layer_ = register_module("output_layer", type->make(sizes));
    outputs_ = sizes.vocabulary;
  }
}

nn::OutputMatrix Model::output_matrix() {
  return {.weight = output_weight(), .bias = output_bias()};
}

void Model::use_embedding(std::shared_ptr<nn::TokenEmbedding> embedding,
                          const EmbeddedTokens& tokens) {
  embeddings_used_.push_back({std::move(embedding), tokens});
}

void Model::fit(const TrainingSequences& data) {
  const auto zeros = [](bool are_needed, int64_t count) {
    return std::vector<int64_t>(are_needed ? static_cast<std::size_t>(count) : 0, 0);
  };
  const bool has_statistics = output_layer_ != nullptr && output_layer_->needs_statistics();
  auto outputs = zeros(has_statistics, outputs_);
  std::vector<std::vector<int64_t>> words;  // of each embedding
  bool has_counts = has_statistics;
  for (const auto& [embedding, tokens] : embeddings_used_) {
    words.push_back(zeros(embedding->needs_counts(), tokens.vocabulary));
    has_counts = has_counts || !words.back().empty();
  }
  const auto visit = [&](const TrainingSequence& sequence) {
    if (!outputs.empty()) {
      count_tokens(sequence.targets, outputs);
      if (sequence.targets.empty() && sequence.label >= 0) {  // a class is predicted
        ++outputs.at(static_cast<std::size_t>(sequence.label));
      }
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!words[i].empty()) {
        count_embedded(sequence, embeddings_used_[i].tokens, words[i]);
      }
    }
  };
  if (has_counts) {
    data.visit(visit);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& [embedding, tokens] = embeddings_used_[i];
    const bool is_source = tokens.has_source && !tokens.has_input && data.source_token;
    embedding->fit(
        {.counts = std::move(words[i]), .token = is_source ? data.source_token : data.token});
  }
  if (has_statistics) {
    output_layer_->fit(
        {.counts = std::move(outputs), .token = data.token, .tokens_of = data.tokens_of});
  }
}

void Model::finish_loading() {
  for (const auto& used : embeddings_used_) {
    used.embedding->finish_loading();
  }
  if (output_layer_ != nullptr) {
    output_layer_->finish_loading();
  }
}

at::Tensor Model::encode(const SourceInput& /*source*/, const nn::ForwardContext& /*context*/) {
  TORCH_CHECK(false, architecture_of(options()), " is not an encoder-decoder");
}

at::Tensor Model::pooled(const at::Tensor& /*hidden*/, const nn::ForwardContext& /*context*/) {
  TORCH_CHECK(false, architecture_of(options()), " has no pooler");
}

at::Tensor Model::token_features(const at::Tensor& /*rows*/) {
  TORCH_CHECK(false, architecture_of(options()), " does not predict tokens");
}

at::Tensor Model::output_weight() {
  TORCH_CHECK(false, architecture_of(options()), " does not predict tokens");
}

at::Tensor Model::output_bias() {
  TORCH_CHECK(false, architecture_of(options()), " does not predict tokens");
}

at::Tensor Model::output_logits(const nn::TokenStates& features, const nn::OutputMatrix& matrix) {
  return output_layer_ != nullptr ? output_layer_->logits(features, matrix)
                                  : kernels::linear(features.states, matrix.weight, matrix.bias);
}

at::Tensor Model::histories(const TextInput& input, const nn::ForwardContext& context) {
  return output_layer_ != nullptr ? output_layer_->histories(input.ids, context) : at::Tensor();
}

at::Tensor Model::selected_histories(const TextInput& input,
                                     const nn::ForwardContext& context,
                                     const nn::RowSelection& rows) {
  const auto all = histories(input, context);
  return all.defined() ? all.index_select(0, rows.index.to(all.device())) : all;
}

at::Tensor Model::lm_logits(const nn::TokenStates& rows) {
  return output_logits({token_features(rows.states), rows.histories}, output_matrix());
}

at::Tensor Model::lm_loss(const nn::TokenStates& rows,
                          const at::Tensor& targets,
                          const nn::ForwardContext& context,
                          double smoothing) {
  const auto features = token_features(rows.states);  // (M, E)
  if (output_layer_ != nullptr) {
    const auto matrix = output_matrix();
    const nn::TokenStates input(features, rows.histories);
    const auto loss = output_layer_->loss(input, targets, matrix, context);
    return smoothing > 0 ? (1 - smoothing) * loss -
                               smoothing * at::log_softmax(output_layer_->logits(input, matrix), 1,
                                                           at::kFloat)
                                               .mean(1)
                                               .sum()
                         : loss;
  }
  const auto loss =
      kernels::linear_cross_entropy(features, output_weight(), output_bias(), targets);
  return smoothing > 0 ? loss + smoothing * kernels::label_smoothing_term(features, output_weight(),
                                                                          output_bias(), targets)
                       : loss;
}

TokenMetrics Model::lm_metrics(const nn::TokenStates& rows, const std::vector<int64_t>& targets) {
  constexpr int64_t kChunkRows = 512;
  TokenMetrics result;
  const auto count = static_cast<int64_t>(targets.size());
  for (int64_t begin = 0; begin < count; begin += kChunkRows) {
    const int64_t end = std::min(count, begin + kChunkRows);
    result.append(token_metrics(lm_logits(rows.slice(begin, end)),
                                {targets.begin() + begin, targets.begin() + end}));
  }
  return result;
}

at::Tensor Model::next_sentence_logits(const at::Tensor& /*pooled*/) {
  TORCH_CHECK(false, architecture_of(options()), " does not support next sentence prediction");
}

at::Tensor Model::class_logits(const at::Tensor& /*hidden*/,
                               const nn::ForwardContext& /*context*/) {
  TORCH_CHECK(false, architecture_of(options()), " does not classify sequences");
}

at::Tensor Model::token_logits(const at::Tensor& /*hidden*/,
                               const nn::ForwardContext& /*context*/) {
  TORCH_CHECK(false, architecture_of(options()), " does not classify tokens");
}

torch::nn::Module* find_module(const torch::nn::Module& root, const std::string& path) {
  const auto dot = path.find('.');
  const auto children = root.named_children();
  const auto* child = children.find(path.substr(0, dot));
  if (child == nullptr) {
    return nullptr;
  }
  return dot == std::string::npos ? child->get() : find_module(**child, path.substr(dot + 1));
}

nn::TokenStates token_states(Model& model,
                             const TextInput& input,
                             const nn::ForwardContext& context) {
  return {model.hidden(input, context), model.histories(input, context)};
}

nn::TokenStates selected_token_states(Model& model,
                                      const TextInput& input,
                                      const nn::ForwardContext& context,
                                      const nn::RowSelection& rows) {
  return {model.selected_hidden_states(input, context, rows),
          model.selected_histories(input, context, rows)};
}

}  // namespace weft::models
