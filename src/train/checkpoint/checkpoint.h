#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer.h"
#include "models/adapters/lora.h"
#include "models/model.h"
#include "train/optimizer/arena.h"
#include "train/optimizer/optimizer.h"
#include "train/step/state.h"

namespace weft::train {

/// All that a checkpoint is made of. The flat tensors may be copies of those that the run works on.
struct CheckpointParts {
  const models::Model& model;  // its shape; its weights are those of `master`
  const data::Tokenizer& tokenizer;
  const Arena& arena;  // places of the parameters in the flat tensors
  at::Tensor master;   // all weights, fp32
  std::vector<std::pair<std::string, at::Tensor>> moments;  // of the optimizer
  at::Tensor average;                                       // of the trained weights, if any
  const models::Lora* lora = nullptr;                       // the adapters of the model, if any
  const std::string& resolved_config;
};

/// Ending of a checkpoint that stepped aside for a newer one of its name.
inline constexpr const char* kReplaced = ".replaced";

/// `checkpoint-<step>`.
std::string checkpoint_name(int64_t step);

/// Writes `<run>/checkpoint-<step>`, which appears whole or not at all: into a directory ending in
/// `.tmp`, every file and directory flushed, the manifest last, then renamed. One of the same name
/// is exchanged. Throws FileError, also where the disk has no space for it, and leaves nothing
/// behind. Returns its path.
std::string save_checkpoint(const std::string& run_directory,
                            const CheckpointParts& parts,
                            const TrainState& state);

/// Where the checkpoint's model is an average, brings the arena back to the weights that were
/// trained. Throws formats::Error.
void load_weights(const std::string& checkpoint, Arena& arena);

/// Fills the optimizer's moments from a checkpoint. Throws formats::Error.
void load_optimizer(const std::string& checkpoint, const Arena& arena, Optimizer& optimizer);

/// Steps of the checkpoints in the directory, rising; whether they are whole is not asked. Throws
/// FileError.
std::vector<int64_t> checkpoint_steps(const std::string& run_directory);

/// A checkpoint to go on from.
struct Resumable {
  std::string directory;
  TrainState state;
};

/// The newest checkpoint of the run whose every checksum is right. Damaged ones are named in a
/// warning and passed over.
std::optional<Resumable> newest_valid_checkpoint(const std::string& run_directory);

/// A checkpoint named by the user: itself, or a run directory's newest valid one. Throws UserError.
Resumable open_checkpoint(const std::string& path);

/// Takes the checkpoint away; at no moment does half of it bear a checkpoint's name. Throws
/// FileError.
void remove_checkpoint(const std::string& directory);

/// Removes a file or directory; a failure is only a warning.
void remove_quietly(const std::string& path);

}  // namespace weft::train
