#pragma once

#include <memory>
#include <vector>

#include "kernels/linear/product.h"
#include "models/decoding/decoder.h"
#include "models/model.h"
#include "nn/attention/decoding_cache.h"
#include "nn/memory.h"

namespace weft::models {

/// Whether a model gives tokens left to right.
bool can_generate(const Model& model);

/// A model that remembers keys and values of the tokens it has seen. The model's parameters stay
/// where they are; prompts are packed, the cache too.
class ModelDecoder : public Decoder {
 public:
  /// `output`: of prepare_for_decoding. `prompts`: sources too where the model is an
  /// encoder-decoder.
  ModelDecoder(Model& model,
               const kernels::PackedMatrix& output,
               const std::vector<Prompt>& prompts);

  at::Tensor first() override;
  at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) override;

 private:
  void read_sources();
  /// Logits after the last of the new tokens of each sequence. `prefixes`: nn::Pass.
  at::Tensor step(const std::vector<int64_t>& ids,
                  const std::vector<int64_t>& counts,
                  std::vector<int64_t> prefixes = {});

  Model& model_;
  const kernels::PackedMatrix& output_;  // (D, V)
  const std::vector<Prompt>& prompts_;
  nn::DecodingCache cache_;
  nn::Memory memory_;
  bool has_memory_ = false;
};

}  // namespace weft::models
