#include "inference/alignment.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "kernels/to_device.h"
#include "models/source_attention.h"
#include "nn/attention/attention_recorder.h"

namespace weft::inference {

namespace {

nn::ForwardContext context_of_one(int64_t tokens, const at::Device& device) {
  nn::ForwardContext context;
  context.layout = kernels::Layout::from_offsets({0, tokens}, device);
  return context;
}

std::vector<std::string> pieces_of(const data::Tokenizer& tokenizer, const models::Tokens& ids) {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const auto id : ids) {
    pieces.push_back(tokenizer.piece(static_cast<int32_t>(id)));
  }
  return pieces;
}

}  // namespace

std::vector<int64_t> Alignment::hard() const {
  const auto most = weights.argmax(1);
  return {most.const_data_ptr<int64_t>(), most.const_data_ptr<int64_t>() + most.numel()};
}

Alignment align(models::Model& model,
                const data::Tokenizer& tokenizer,
                const models::Tokens& source,
                const models::Tokens& start,
                const models::Tokens& target) {
  const at::NoGradGuard guard;
  const auto device = model.device();
  Alignment result{.source = pieces_of(tokenizer, source),
                   .target = pieces_of(tokenizer.target(), target),
                   .weights = at::empty({0, static_cast<int64_t>(source.size())})};
  auto read = start;  // by the decoder; it does not read the last token
  read.insert(read.end(), target.begin(), target.end());
  read.pop_back();
  const auto reading = context_of_one(static_cast<int64_t>(source.size()), device);
  const nn::EncoderStates encoder_states{
      .states = model.encode({.ids = kernels::to_device(source, device), .patches = {}}, reading),
      .layout = reading.layout};
  nn::AttentionRecorder recorder(models::source_attention_layers(model.options()));
  auto writing = context_of_one(static_cast<int64_t>(read.size()), device);
  writing.encoder_states = &encoder_states;
  writing.attention_recorder = &recorder;
  model.hidden({.ids = kernels::to_device(read, device)}, writing);
  const auto rows = static_cast<int64_t>(target.size());
  const auto weights = models::last_source_attention(recorder, model.options()).front();  // (L', S)
  result.weights = weights.narrow(0, weights.size(0) - rows, rows).contiguous();
  return result;
}

}  // namespace weft::inference
