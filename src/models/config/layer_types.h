#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/json.h"
#include "nn/component.h"
#include "nn/depth/computation_gate.h"
#include "nn/depth/halting.h"
#include "nn/embedding/step_embedding.h"
#include "nn/layer_mix.h"
#include "nn/norm/norm.h"
#include "nn/output/output_layer.h"
#include "nn/reversible.h"

namespace weft::nn {
class Attention;
struct AttentionOptions;
struct BlockOptions;
class FeedForward;
struct FeedForwardOptions;
class Norm;
struct NormOptions;
class OutputLayer;
struct OutputOptions;
struct Position;
struct PositionOptions;
class ResidualScale;
struct ResidualScaleOptions;
class SequencePooling;
struct SequencePoolingOptions;
struct StackOptions;
class Sublayer;
class TokenEmbedding;
struct TokenEmbeddingOptions;
}  // namespace weft::nn

namespace weft::models {

struct ModelOptions;

/// Choices by layer: for ranges of layers, else cycled over the layers, else none.
template <class Choice>
struct PerLayer {
  struct Range {
    int64_t first = 0;
    int64_t last = 0;  // inclusive
    Choice choice;
    bool operator==(const Range&) const = default;
  };
  std::vector<Range> ranges;
  std::vector<Choice> cycle;

  bool empty() const { return ranges.empty() && cycle.empty(); }
  bool operator==(const PerLayer&) const = default;

  /// nullptr: none.
  const Choice* at(int64_t layer) const {
    const auto found = std::find_if(ranges.begin(), ranges.end(), [&](const Range& range) {
      return range.first <= layer && layer <= range.last;
    });
    if (found != ranges.end()) {
      return &found->choice;
    }
    return cycle.empty() ? nullptr : &cycle[static_cast<std::size_t>(layer) % cycle.size()];
  }
};

/// Layers that share their parameters.
struct LayerSharing {
  int64_t distinct = 1;  // layers with parameters of their own
  bool cycles = false;   // repeated in their order, else each in a group of consecutive layers
  std::vector<std::string> sublayers = {};  // that are shared, by name; empty: whole layers

  bool operator==(const LayerSharing&) const = default;
};

/// Names of the sub-layers of the order; empty: that of most families.
std::vector<std::string> sublayer_names(const std::string& block, bool has_encoder);

/// Types of parts in place of those of the family. A model with any is beyond its family: it
/// is saved with `model_type` weft.
struct LayerTypes {
  PerLayer<nn::ComponentChoice<nn::Attention, nn::AttentionOptions>> attention;
  PerLayer<nn::ComponentChoice<nn::FeedForward, nn::FeedForwardOptions>> feed_forward;
  std::string block;  // orders of the sub-layers (nn::block_orders), cycled over the layers;
                      // empty: the family's
  /// Of the sub-layers of `block` with a section of their own, by name.
  std::map<std::string, PerLayer<nn::ComponentChoice<nn::Sublayer, nn::BlockOptions>>> sublayers;
  std::vector<nn::ComponentChoice<nn::Position, nn::PositionOptions>> positions;  // all applied
  std::optional<nn::ComponentChoice<nn::Norm, nn::NormOptions>> norm;
  std::optional<nn::NormPlacement> norm_place;  // sandwich or none
  std::optional<LayerSharing> sharing;
  std::optional<nn::HaltingOptions> halting;
  std::optional<nn::StepEmbeddingType> step_embedding;
  std::optional<nn::LayerMixOptions> mix;
  std::optional<nn::ComponentChoice<nn::ResidualScale, nn::ResidualScaleOptions>> residual;
  std::optional<nn::StreamMerge> reversible;  // in place of `residual`: layers with two streams
  std::optional<nn::ComputationGateOptions> gate;  // of all sub-layers
  std::optional<nn::ComponentChoice<nn::TokenEmbedding, nn::TokenEmbeddingOptions>>
      embedding;                                                                  // none: a table
  std::optional<nn::ComponentChoice<nn::OutputLayer, nn::OutputOptions>> output;  // none: a matrix
  /// Of sequence classifiers.
  std::optional<nn::ComponentChoice<nn::SequencePooling, nn::SequencePoolingOptions>> pooling;

  bool empty() const {
    return attention.empty() && feed_forward.empty() && block.empty() && positions.empty() &&
           !norm && !norm_place && !sharing && !halting && !step_embedding && !mix && !residual &&
           !reversible && !gate && !embedding && !output && !pooling;
  }
  bool operator==(const LayerTypes&) const = default;
};

/// Replaces the parts of the layers. Stacks without cross attention leave it out of the order.
nn::StackOptions with_layer_types(nn::StackOptions stack, const LayerTypes& types);

/// Whether layers of these types carry a state from step to step (data.streams).
bool carries_state(const LayerTypes& types);
/// Whether a layer does that does not let the stack read segments of the sequences.
bool carries_own_state(const LayerTypes& types);

/// Whether the layers of a model differ in more than their parameters.
bool has_distinct_layer_types(const ModelOptions& options);

/// Whether some of them read what the layer before has left in the same pass.
bool reads_layer_before(const LayerTypes& types);

/// Whether some of them draw at random in training, and learn from the loss of each sequence.
bool draws_at_random(const LayerTypes& types);

/// Whether a model with these types has an output matrix, which may be tied to its word embeddings.
bool has_output_matrix(const LayerTypes& types);

/// Whether the output layer of a model that ties its output to its word embeddings shares its
/// weights with embeddings of these types (nn::OutputOptions::tied).
bool shares_embedding(const LayerTypes& types, bool is_tied);
/// Why a model with these types cannot tie its output to its word embeddings, or leave that, as
/// configured; empty: it can.
std::string tie_error(const LayerTypes& types, bool is_tied);

/// The keys `attention`, `feed_forward`, `block`, `position`, `norm`, `norm_place`, `sharing`,
/// `halting`, `step_embedding`, `mix`, `residual`, `gate`, `embedding`, `output`,
/// `classifier_pooling` and those of the sub-layers in config.json; absent for empty parts.
void write_layer_types(formats::Json& json, const LayerTypes& types);
/// Throws UserError, naming `place`, for types that this program does not have.
LayerTypes read_layer_types(const formats::Json& json, const std::string& place);

/// nn::output_types() with those that consist of models.
const Registry<nn::OutputDefinition>& output_types();

/// The most frequent tokens by the network, the others by an n-gram model (Schwenk, Computer Speech
/// and Language 21, 2007).
nn::OutputMaker read_shortlist_output(config::Section& section);

}  // namespace weft::models
