#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "models/decoding/model_decoder.h"
#include "models/decoding/search.h"
#include "models/decoding/search_options.h"

namespace weft::models {

/// A draft model and how it proposes tokens.
struct DraftOptions {
  int64_t tokens = 5;      // proposed for each pass of the model
  int64_t length = 0;      // positions of the draft model; 0: unlimited
  Sampling sampling = {};  // of the search
};

/// How many tokens a draft model has proposed, and how many of them the search has chosen.
struct DraftCounts {
  int64_t proposed = 0;
  int64_t accepted = 0;
};

/// Speculative decoding (arXiv:2211.17192): a draft model proposes the next tokens, and one pass of
/// the model gives the logits after all of them. The search sees only logits of the model, so its
/// texts are those of the model alone, except where rounding decides between equally good tokens.
/// When sampling, the draft model draws with the random numbers of the search. A pass is made for
/// all sequences as soon as a proposal of one of them is wrong: this helps most with few sequences.
class SpeculativeDecoder : public Decoder {
 public:
  /// Both decoders have these prompts and the same vocabulary. Adds to `counts`.
  SpeculativeDecoder(ModelDecoder& model,
                     ModelDecoder& draft,
                     const std::vector<Prompt>& prompts,
                     const DraftOptions& options,
                     DraftCounts& counts);

  at::Tensor first() override;
  at::Tensor next(const std::vector<int64_t>& rows, const Tokens& tokens) override;

 private:
  struct Sequence {
    std::size_t prompt = 0;
    uint64_t number = 0;    // among the samples of its prompt
    Tokens tokens;          // prompt and chosen ones
    Tokens proposals = {};  // of the draft model, after `tokens` as they were at the last pass
  };

  void reorder(const std::vector<int64_t>& rows);
  /// Adds the tokens; returns whether they are the next proposals of all sequences.
  bool take(const Tokens& tokens);
  /// How many tokens are worth proposing now.
  int64_t proposal_count() const;
  void propose(int64_t count);
  Tokens draft_tokens(const at::Tensor& logits) const;
  /// Forgets wrong proposals. Returns the tokens of each sequence that the decoder has not read.
  std::vector<Tokens> unread(ModelDecoder& decoder) const;

  ModelDecoder& model_;
  ModelDecoder& draft_;
  const std::vector<Prompt>& prompts_;
  DraftOptions options_;
  DraftCounts& counts_;
  std::vector<Sequence> sequences_;
  bool has_samples_ = false;  // `sequences_` are those of the search, no longer the prompts
  bool is_drafting_ = true;   // off if a prompt is too long for the draft model
  at::Tensor ahead_;          // (B, 1 + proposals, V), the logits of the last pass
  int64_t used_ = 0;          // proposals that were chosen since
};

}  // namespace weft::models
