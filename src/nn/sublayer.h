#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "config/section.h"
#include "nn/component.h"
#include "nn/depth/computation_gate.h"
#include "nn/dropout_sites.h"
#include "nn/forward_context.h"
#include "nn/row_selection.h"

namespace weft::nn {

struct BlockOptions;  // nn/block.h

/// The branch of a residual connection: attention, feed-forward, ... Norm, residual and output
/// dropout belong to the block.
class Sublayer : public torch::nn::Module {
 public:
  /// (N, D) -> (N, D). With ForwardContext::decoding_state, a sub-layer that mixes tokens continues
  /// from what it has kept there (nn/decoding_state.h), or throws.
  virtual at::Tensor forward(const at::Tensor& x, const ForwardContext& context) = 0;

  /// Whether a row of the output depends on other rows of the input, or an auxiliary loss is a sum
  /// over all of them. Otherwise only the rows that are read are computed.
  virtual bool mixes_tokens() const = 0;

  /// Whether it must be called although it gets no rows.
  virtual bool must_run() const { return false; }

  /// Features of the output where they may be others than D, which the block must be able to pass
  /// on.
  virtual std::optional<int64_t> output_dim() const { return std::nullopt; }

  /// The context of the rows that forward() returns; another one if it shortens the sequences.
  virtual ForwardContext context_after(const ForwardContext& context) const { return context; }

  /// Gates the rows that its keys and values are computed from, if it has any. Throws config::Error
  /// for a type whose keys cannot be gated.
  virtual void gate_keys(const ComputationGateMaker& /*make*/) {}

  /// The selected rows of forward(): (N, D) -> (M, D). Override it to skip work for the others.
  virtual at::Tensor forward_selected(const at::Tensor& x,
                                      const ForwardContext& context,
                                      const RowSelection& selection) {
    return mixes_tokens() ? selection.select(forward(x, context))
                          : forward(selection.select(x), selection.select(context));
  }
};

/// Dropout calls of the block after a sub-layer.
struct SublayerSites {
  BlockDropoutSite output = BlockDropoutSite::kAttentionOutput;
  BlockDropoutSite drop_path = BlockDropoutSite::kAttentionDropPath;
};

/// A kind of sub-layer, which `model.block` names by its letter.
struct SublayerDefinition {
  /// Makes the sub-layer of a layer. `layer` of the options is distinct for each sub-layer that
  /// has its own sites or repeats another.
  using Maker = ComponentDefinition<Sublayer, BlockOptions>::Maker;
  using Choice = ComponentChoice<Sublayer, BlockOptions>;

  std::string_view name;         // of its module, and of its section `model.NAME` if it has one
  char letter = 0;               // in BlockOptions::order, a to z
  std::string_view description;  // for help texts and messages
  /// Exactly one of the two. `make` has no keys of its own. `read` reads the section `model.NAME`;
  /// it must also work in documentation mode. Throws config::Error.
  Maker make = nullptr;
  Maker (*read)(config::Section& section) = nullptr;
  bool needs_encoder_states = false;  // only in such decoders
  bool replaces_stream = false;       // its output is not added to its input
  bool carries_state = false;         // from step to step (ForwardContext::carried_state)
  bool reads_any_width = false;       // its input has BlockOptions::input_dim features
  bool shortens_sequences = false;    // returns fewer rows than it reads, which replace them
  bool cuts_sequences = false;        // the stack reads segments of them, one after another
  double (*output_dropout)(const BlockOptions& options) =
      nullptr;  // nullptr: BlockOptions::dropout
  /// In the group of the layer; nullopt: it has a group of its own, of which the block uses the
  /// defaults and the sub-layer may use all others.
  std::optional<SublayerSites> sites = {};
};

/// The letters of `model.block`.
const Registry<SublayerDefinition>& sublayer_kinds();

/// Adds a kind; call it before weft::run. Throws std::invalid_argument if name or letter are taken,
/// or the letter is not one.
void register_sublayer(const SublayerDefinition& definition);

/// nullptr for an unknown letter.
const SublayerDefinition* find_sublayer(char letter);

/// `a (attention), f (feed-forward)`: all kinds, or those for which `is_listed` holds.
std::string list_sublayers(
    const std::function<bool(const SublayerDefinition&)>& is_listed = nullptr);

/// The orders of the layers that `model.block` describes: words such as `faf`, each perhaps with a
/// number of repetitions, as in `a*6 af*10 f*6` (arXiv:1911.03864).
std::vector<std::string> block_orders(const std::string& block);

/// What is wrong with such a description, or nullopt.
std::optional<std::string> block_error(const std::string& block);

/// The kinds of a block that have a section of their own.
std::vector<const SublayerDefinition*> sublayers_with_keys(const std::string& order);

/// Whether one of the sub-layers needs encoder states; the order without them.
bool needs_encoder_states(const std::string& order);
std::string without_encoder_states(std::string order);
/// Whether one of them carries a state from step to step; or one that does not let the stack read
/// segments.
bool carries_state(const std::string& order);
bool carries_own_state(const std::string& order);
/// Whether one of them lets the stack read segments of the sequences.
bool cuts_sequences(const std::string& order);
/// Whether one of them returns fewer rows than it reads.
bool shortens_sequences(const std::string& order);

/// The sub-layer `v`: the convolution module of Conformer (arXiv:2005.08100, section 2.2), with the
/// norm of the model in place of the batch norm.
SublayerDefinition::Maker read_convolution(config::Section& section);

/// The sub-layer `d`: the distilling of Informer between two layers of an encoder, which halves the
/// length of each sequence (arXiv:2012.07436, section 3.3): a convolution over three tokens, a
/// norm, ELU, and the maximum over three tokens at every second one. l tokens leave ceil(l / 2)
/// rows. Convolution and windows begin and end with each sequence. Batch norm would make results
/// depend on the other texts of a batch; here the norm is that of the model, or takes the mean and
/// variance of each feature over the tokens of a text.
SublayerDefinition::Maker read_distilling(config::Section& section);

}  // namespace weft::nn
