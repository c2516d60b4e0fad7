#include "models/decoding/model_decoder.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "kernels/to_device.h"
#include "models/config/family_definition.h"

namespace weft::models {

bool can_generate(const Model& model) {
  const auto head = model.options().head;
  return generates(model.options()) && (head == Head::kCausalLm || head == Head::kConditional);
}

ModelDecoder::ModelDecoder(Model& model,
                           const kernels::PackedMatrix& output,
                           const std::vector<Prompt>& prompts)
    : model_(model),
      output_(output),
      prompts_(prompts),
      cache_(static_cast<int64_t>(prompts.size())) {}

void ModelDecoder::read_sources() {
  std::vector<int64_t> ids;
  std::vector<int64_t> offsets{0};
  for (const auto& prompt : prompts_) {
    ids.insert(ids.end(), prompt.source.begin(), prompt.source.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
  nn::Pass pass;
  pass.layout = kernels::Layout::of(std::move(offsets), model_.device());
  memory_.states =
      model_.encode({.ids = kernels::to_device(ids, model_.device()), .patches = {}}, pass);
  memory_.layout = pass.layout;
  has_memory_ = true;
}

at::Tensor ModelDecoder::step(const std::vector<int64_t>& ids,
                              const std::vector<int64_t>& counts,
                              std::vector<int64_t> prefixes) {
  const at::NoGradGuard guard;
  nn::Pass pass;
  pass.layout = cache_.begin(counts, model_.device());
  pass.cache = &cache_;
  pass.memory = has_memory_ ? &memory_ : nullptr;
  pass.prefixes = std::move(prefixes);
  const TextInput input{.ids = kernels::to_device(ids, model_.device()), .types = {}};
  const auto rows = pass.layout.tokens() == pass.layout.sequences()
                        ? model_.hidden(input, pass)
                        : model_.hidden_rows(input, pass, nn::ChosenRows::last_tokens(pass));
  return kernels::product(model_.token_features(rows), output_, model_.output_bias());  // (B, V)
}

at::Tensor ModelDecoder::first() {
  const at::NoGradGuard guard;
  if (reads_source(model_.options())) {
    read_sources();
  }
  std::vector<int64_t> ids;
  std::vector<int64_t> counts;
  std::vector<int64_t> prefixes;
  for (const auto& prompt : prompts_) {
    ids.insert(ids.end(), prompt.tokens.begin(), prompt.tokens.end());
    counts.push_back(static_cast<int64_t>(prompt.tokens.size()));
    if (model_.options().decoder.sees_prompt) {
      prefixes.push_back(counts.back() - prompt.begun);
    }
  }
  return step(ids, counts, std::move(prefixes));
}

at::Tensor ModelDecoder::next(const std::vector<int64_t>& rows, const Tokens& tokens) {
  cache_.reorder(rows);
  return step(tokens, std::vector<int64_t>(tokens.size(), 1));
}

}  // namespace weft::models
