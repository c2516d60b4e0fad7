#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/attention/rotary.h"
#include "nn/component.h"
#include "nn/sublayer.h"

namespace weft::nn {

struct AttentionOptions;
struct NamedModifier;  // nn/attention/attention_parts.h

/// Makes the part of a layer that lets its scores depend on positions.
using PositionModifierMaker = std::function<NamedModifier(const AttentionOptions&)>;

/// Scores of a layer that depend on the content of a token and the distance of the other
/// (arXiv:2006.03654, equation 4).
struct DistanceScoreOptions {
  bool content_to_position = true;  // a query and the projected vector of the distance
  bool position_to_content = true;  // a key and the same
  /// The vectors are projected like tokens; else by layers of their own.
  bool shares_projections = true;
  bool has_key_bias = true;  // of the layer for `content_to_position`
  double dropout = 0;        // of the vectors

  bool operator==(const DistanceScoreOptions&) const = default;
};

/// Which layer of its stack a layer is.
struct StackPlace {
  int64_t index = 0;
  int64_t layers = 1;
};

/// Settings of the model that all attention types share.
struct AttentionOptions {
  int64_t dim = 0;                           // D
  int64_t heads = 0;                         // H, divides D
  int64_t layer = 0;                         // index of the block; part of the dropout site
  StackPlace place = {};                     // set by the stack
  bool is_causal = false;                    // a token attends to itself and those before it
  bool has_bias = true;                      // of the projections
  bool has_key_bias = true;                  // else only queries and values have one
  kernels::RotaryOptions rotary = {};        // RoPE (arXiv:2104.09864); theta 0: none; width 0: K
  bool is_local = false;                     // RoPE has its theta for local layers
  int64_t key_heads = 0;                     // G (arXiv:2305.13245); 0: H
  int64_t head_dim = 0;                      // K; 0: D / H
  int64_t encoder_dim = 0;                   // cross attention: width of the encoder states; 0: D
  int64_t output_dim = 0;                    // of the output projection; 0: D
  double scale = 0;                          // of the scores; 0: 1 / sqrt(K)
  std::optional<bool> has_output_bias = {};  // of the output projection; nullopt: as has_bias
  bool has_distance_bias = false;            // ForwardContext::distance_bias is added to the scores
  std::vector<PositionModifierMaker> position_modifiers = {};  // of this layer
  /// The scores contain those of ForwardContext::distance_table.
  std::optional<DistanceScoreOptions> distance_scores = {};
  double dropout = 0.1;  // on the attention weights
};

/// Self-attention within each sequence, including the output projection.
class Attention : public Sublayer {
 public:
  bool mixes_tokens() const override { return true; }

  void gate_keys(const ComputationGateMaker& make) override;

  /// Whether the scores contain ForwardContext::distance_bias, if has_distance_bias, the position
  /// modifiers and the distance scores. A model with such positions refuses types that ignore them.
  virtual bool adds_positions() const { return false; }

  /// Attention weights of forward() for the same input, without dropout: (H, L, L) in fp32 for each
  /// sequence, rows are queries. A separate, unfused path, for inspection. Throws c10::Error for
  /// types that have no such weights.
  virtual std::vector<at::Tensor> weights(const at::Tensor& x, const ForwardContext& context);
};

using AttentionDefinition = ComponentDefinition<Attention, AttentionOptions>;
using AttentionMaker = AttentionDefinition::Maker;
using AttentionChoice = ComponentChoice<Attention, AttentionOptions>;

/// The values of `model.attention.type`.
const Registry<AttentionDefinition>& attention_types();

/// Type `full`: each token attends to all tokens of its sequence (arXiv:1706.03762, section 3.2)
/// or, if causal, to itself and those before it. It has no keys of its own.
std::shared_ptr<Attention> make_full_attention(const AttentionOptions& options);

/// Adds a type; call it before weft::run. Throws std::invalid_argument if the name is taken.
void register_attention(const AttentionDefinition& definition);

/// Whether scores depend on positions by more than a rotation of queries and keys.
bool scores_have_positions(const AttentionOptions& options);

/// G and K.
int64_t key_heads(const AttentionOptions& options);
int64_t head_dim(const AttentionOptions& options);
/// The scale of the scores, also where `scale` is 0.
double score_scale(const AttentionOptions& options);

/// Throws config::Error if a model with an attention type that is not causal is: `type: found
/// 'TYPE' in a causal model: reason`.
void refuse_causal(const config::Section& section,
                   bool is_causal,
                   std::string_view type,
                   std::string_view reason);

}  // namespace weft::nn
