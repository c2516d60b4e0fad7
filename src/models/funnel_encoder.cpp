#include "models/funnel_encoder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/config/heads.h"
#include "nn/activation_hook.h"
#include "nn/pooling/token_pooling.h"

namespace weft::models {

namespace {

nn::StackOptions funnel_stack_of(const ModelOptions& options) {
  const auto& own = options.funnel;
  const auto decoder = has_funnel_decoder(options) ? own.decoder_layers : 0;
  auto stack = encoder_stack_of(options, encoder_layers(own) + decoder);
  for (std::size_t block = 0; block < own.block_sizes.size(); ++block) {
    stack.repeats.insert(stack.repeats.end(), static_cast<std::size_t>(own.block_sizes[block]),
                         block_repeats(own, block));
  }
  stack.repeats.insert(stack.repeats.end(), static_cast<std::size_t>(decoder), 1);
  return stack;
}

}  // namespace

bool has_funnel_decoder(const ModelOptions& options) {
  return !head_of(options).classifies_sequences && !head_of(options).reads_last_block;
}

FunnelEncoder::FunnelEncoder(const ModelOptions& options, nn::Embeddings embeddings)
    : Encoder(options, std::move(embeddings), funnel_stack_of(options)) {}

std::shared_ptr<Encoder> FunnelEncoder::make_generator(const ModelOptions& options,
                                                       const nn::Embeddings& embeddings) const {
  return std::make_shared<FunnelEncoder>(options, embeddings);
}

void FunnelEncoder::run_layer(Pass& pass, std::size_t layer, bool pools, bool only_first) {
  const auto& own = options().funnel;
  const nn::EncoderStates before{.states = pass.rows,
                                 .layout = pass.context.layout,
                                 .stride = pass.context.stride,
                                 .token_types = pass.context.token_types};
  if (pools) {
    auto pooled = nn::pool_tokens(pass.rows, pass.context, own.pooling);
    pass.rows = std::move(pooled.rows);
    pass.context = std::move(pooled.context);
  }
  auto context = pass.context;
  context.encoder_states = pools && own.pool_q_only ? &before : nullptr;
  const auto selection =
      only_first ? std::optional(nn::RowSelection::first_tokens(context)) : std::nullopt;
  pass.rows = layers().forward_layer(layer, pass.rows, context, selection ? &*selection : nullptr);
}

FunnelEncoder::Pass FunnelEncoder::encode_tokens(const TextInput& input,
                                                 const nn::ForwardContext& context,
                                                 bool only_first) {
  const auto& own = options().funnel;
  const auto embeddings = embedded(input, context);
  Pass pass{.tokens = layers().with_shared_scores(context, embeddings.device())};
  pass.tokens.token_types = input.types;
  pass.context = pass.tokens;
  pass.rows = nn::ActivationHook::run_hooks("embeddings", embeddings);
  const auto count = static_cast<std::size_t>(encoder_layers(own));
  std::size_t layer = 0;
  for (std::size_t block = 0; block < own.block_sizes.size(); ++block) {
    const auto layers = own.block_sizes[block] * block_repeats(own, block);
    for (int64_t i = 0; i < layers; ++i, ++layer) {
      run_layer(pass, layer, block > 0 && i == 0, only_first && layer + 1 == count);
      // Of a block that repeats its layers, transformers takes the states after as many layers as
      // it has without.
      if (layer + 1 == static_cast<std::size_t>(own.block_sizes.front())) {
        pass.first = pass.rows;
      }
    }
  }
  return pass;
}

at::Tensor FunnelEncoder::decode(const Pass& pass, const nn::RowSelection* selection) {
  const auto& own = options().funnel;
  auto rows = nn::upsample_tokens(pass.rows, pass.context.layout, pass.tokens.layout,
                                  pass.context.stride, own.pooling) +
              pass.first;
  const auto first = static_cast<std::size_t>(encoder_layers(own));
  const auto count = static_cast<std::size_t>(own.decoder_layers);
  for (std::size_t i = 0; i < count; ++i) {
    rows =
        layers().forward_layer(first + i, rows, pass.tokens, i + 1 == count ? selection : nullptr);
  }
  if (count == 0 && selection != nullptr) {
    rows = selection->select(rows);
  }
  return layers().final_norm(rows);
}

at::Tensor FunnelEncoder::hidden(const TextInput& input, const nn::ForwardContext& context) {
  const auto pass = encode_tokens(input, context, /*only_first=*/false);
  return has_funnel_decoder(options()) ? decode(pass, nullptr) : layers().final_norm(pass.rows);
}

kernels::Layout FunnelEncoder::hidden_layout(const kernels::Layout& tokens) const {
  const auto& own = options().funnel;
  return has_funnel_decoder(options())
             ? tokens
             : nn::pooled_layout(tokens, std::ssize(own.block_sizes) - 1, own.pooling);
}

at::Tensor FunnelEncoder::selected_hidden_states(const TextInput& input,
                                                 const nn::ForwardContext& context,
                                                 const nn::RowSelection& rows) {
  TORCH_CHECK(has_funnel_decoder(options()), "only a decoder has a state for each token");
  return decode(encode_tokens(input, context, /*only_first=*/false), &rows);
}

at::Tensor FunnelEncoder::class_logits(const at::Tensor& hidden,
                                       const nn::ForwardContext& context) {
  auto own = context;
  own.layout = hidden_layout(context.layout);
  return Encoder::class_logits(hidden, own);
}

at::Tensor FunnelEncoder::classify(const TextInput& input, const nn::ForwardContext& context) {
  if (pools_sequences() || !head_of(options()).classifies_sequences) {
    return class_logits(hidden(input, context), context);
  }
  return logits_of(layers().final_norm(encode_tokens(input, context, /*only_first=*/true).rows),
                   context);
}

}  // namespace weft::models
