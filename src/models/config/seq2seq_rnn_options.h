#pragma once

#include <cstdint>
#include <optional>

#include "nn/component.h"
#include "nn/recurrent/encoder_attention.h"

namespace weft::nn {
struct CellOptions;
class LocalWindow;
struct LocalWindowOptions;
class RecurrentCell;
class ScoreFunction;
struct ScoreOptions;
}  // namespace weft::nn

namespace weft::models {

/// The last layer before the output matrix of a decoder that attends before its step.
enum class Readout { kTanh, kMaxout };

/// A recurrent encoder-decoder; ModelOptions::dim is the width of its embeddings and of the
/// features before the output matrix.
struct Seq2SeqRnnOptions {
  std::optional<nn::ComponentChoice<nn::RecurrentCell, nn::CellOptions>> cell = {};  // set always
  int64_t hidden = 512;  // width of the states
  bool is_bidirectional = true;
  bool has_residuals = false;  // around each layer but the first
  std::optional<nn::ComponentChoice<nn::ScoreFunction, nn::ScoreOptions>> score =
      {};                      // nullopt: no attention
  bool attends_after = false;  // the step, with the state after it
  bool has_input_feeding = false;
  nn::Coverage coverage = nn::Coverage::kNone;
  std::optional<nn::ComponentChoice<nn::LocalWindow, nn::LocalWindowOptions>> local =
      {};  // nullopt: attention to the whole source
  Readout readout = Readout::kMaxout;

  bool operator==(const Seq2SeqRnnOptions&) const = default;
};

}  // namespace weft::models
