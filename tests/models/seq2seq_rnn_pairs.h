#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "models/config/family_definition.h"
#include "models/encoder_decoder_parts.h"
#include "models/seq2seq_rnn/seq2seq_rnn.h"
#include "nn/attention/attention_recorder.h"
#include "support/context.h"
#include "support/tensors.h"

/// Small recurrent encoder-decoders, and pairs of texts for them.
namespace weft::models {

inline ModelOptions rnn_options(const std::string& keys) {
  const auto yaml = "model: {type: seq2seq_rnn, dim: 6, dropout: 0, " + keys + "}";
  auto root = config::Document::parse(yaml, "test.yaml").root();
  auto section = root.section("model", {.help = ""});
  auto options = read_model_options(section);
  options.head = Head::kConditional;
  options.vocabulary = 15;
  options.pad_id = 0;
  options.eos_id = 1;
  set_decoding_ids(options);
  return options;
}

inline std::shared_ptr<Model> rnn_model(const std::string& keys) {
  auto model = make_model(rnn_options(keys), 1);
  test::fill_parameters(*model, 0.6);
  return model;
}

inline const std::vector<int64_t> kSources = {5, 6, 7, 1, 8, 1, 9, 10, 11, 12, 1};
inline const std::vector<int64_t> kSourceOffsets = {0, 4, 6, 11};
inline const std::vector<int64_t> kTargets = {0, 3, 4, 0, 5, 6, 7, 8, 0};
inline const std::vector<int64_t> kTargetOffsets = {0, 3, 8, 9};

struct Pairs {
  std::vector<int64_t> sources = kSources;
  std::vector<int64_t> source_offsets = kSourceOffsets;
  std::vector<int64_t> targets = kTargets;
  std::vector<int64_t> target_offsets = kTargetOffsets;

  /// The pair at `index` alone.
  Pairs alone(std::size_t index) const {
    const auto part = [&](const std::vector<int64_t>& ids, const std::vector<int64_t>& offsets) {
      return std::vector<int64_t>(ids.begin() + offsets[index], ids.begin() + offsets[index + 1]);
    };
    Pairs result{.sources = part(sources, source_offsets),
                 .targets = part(targets, target_offsets)};
    result.source_offsets = {0, static_cast<int64_t>(result.sources.size())};
    result.target_offsets = {0, static_cast<int64_t>(result.targets.size())};
    return result;
  }
};

inline at::Tensor features_of(Model& model,
                              const Pairs& pairs = {},
                              nn::AttentionRecorder* recorder = nullptr) {
  const auto reading = test::context_of(pairs.source_offsets);
  const nn::EncoderStates encoder_states{
      .states = model.encode({.ids = at::tensor(pairs.sources, at::kLong), .patches = {}}, reading),
      .layout = reading.layout};
  auto writing = test::context_of(pairs.target_offsets);
  writing.encoder_states = &encoder_states;
  writing.attention_recorder = recorder;
  return model.hidden({.ids = at::tensor(pairs.targets, at::kLong)}, writing);
}

/// Sets the same values for the parameters that both have.
inline void copy_common_parameters(Model& from, Model& to) {
  const at::NoGradGuard guard;
  const auto source = from.named_parameters();
  for (auto& parameter : to.named_parameters()) {
    if (const auto* same = source.find(parameter.key())) {
      parameter.value().copy_(*same);
    }
  }
}

}  // namespace weft::models
