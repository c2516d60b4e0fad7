#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/tokenizer.h"
#include "models/adapters/lora.h"
#include "models/model.h"
#include "train/distributed/shard_collector.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/optimizer.h"
#include "train/step/state.h"

namespace weft::train {

/// Contents of a checkpoint. The flat tensors have the elements that this rank owns; they may be
/// copies of those that the run works on.
struct CheckpointParts {
  const models::Model& model;  // defines the architecture; the weights are taken from `master`
  const data::Tokenizer& tokenizer;
  const FlatParameters& flat_parameters;  // offsets of the parameters in the flat tensors
  at::Tensor master;                      // all weights, fp32
  std::vector<std::pair<std::string, at::Tensor>> moments;  // of the optimizer
  at::Tensor ema;                                           // of the trained weights, if any
  std::map<std::string, at::Tensor> carried_state = {};     // nn::CarriedState::tensors
  const models::Lora* lora = nullptr;                       // LoRA adapters, if any
  const std::string& resolved_config;
  const std::string& generation_config;  // JSON text to keep with a model that generates, or empty
  const ShardCollector* collector = nullptr;  // if ranks have different values

  /// `master`, `moments` and `ema`.
  std::vector<at::Tensor> flat_tensors() const;
};

/// Suffix of a checkpoint being replaced by a newer one of the same name.
inline constexpr const char* kReplaced = ".replaced";

/// `checkpoint-<step>`.
std::string checkpoint_name(int64_t step);

/// Estimated size of the files of a checkpoint, rather too high than too low.
int64_t expected_checkpoint_bytes(const CheckpointParts& parts);

/// Writes `<run>/checkpoint-<step>` atomically: into a directory ending in `.tmp`, every file and
/// directory flushed, the manifest last, then renamed. An existing one is swapped out. Throws
/// FileError, also if the disk has too little space, and leaves nothing behind. Returns its path.
/// With a collector, the other ranks must serve meanwhile.
std::string save_checkpoint(const std::string& run_directory,
                            const CheckpointParts& parts,
                            const TrainState& state);

/// If the checkpoint's model is the average, restores the trained weights in the flat parameters.
/// Throws formats::Error.
void load_weights(const std::string& checkpoint, FlatParameters& flat_parameters);

/// Name of a moment of which each rank has its own: `rank_2.exp_avg`; of rank 0 `exp_avg`.
std::string moment_name(const std::string& name, int rank);

/// Loads moments, by name, from a checkpoint; those of `rank` if each rank had its own (if there
/// were fewer ranks, those of rank modulo their number). Throws formats::Error.
void load_moments(const std::string& checkpoint,
                  const FlatParameters& flat_parameters,
                  const std::vector<std::pair<std::string, at::Tensor>>& moments,
                  int rank = 0);

/// Whether the checkpoint has this moment.
bool has_moment(const std::string& checkpoint, const std::string& name);

/// The state that layers carry from step to step; empty if the checkpoint has none. Throws
/// formats::Error.
std::map<std::string, at::Tensor> load_carried_state(const std::string& checkpoint);

/// Steps of the checkpoints in the directory, ascending, without verifying them. Throws FileError.
std::vector<int64_t> checkpoint_steps(const std::string& run_directory);

/// A checkpoint to resume from.
struct ResumePoint {
  std::string directory;
  TrainState state;
};

/// Newest checkpoint of the run whose checksums are all correct. Damaged ones are skipped with a
/// warning.
std::optional<ResumePoint> newest_valid_checkpoint(const std::string& run_directory);

/// Opens a checkpoint, or a run directory's newest valid one. Throws UserError.
ResumePoint open_checkpoint(const std::string& path);

/// Removes the checkpoint; a partially removed one never has a checkpoint's name. Throws FileError.
void remove_checkpoint(const std::string& directory);

/// Removes a file or directory; a failure is only a warning.
void remove_quietly(const std::string& path);

inline constexpr const char* kManifest = "training/manifest.json";

/// Writes training/manifest.json: size and XXH3 of every other file below the directory and of
/// every tensor in it, and a checksum of the manifest itself. Throws FileError.
void write_manifest(const std::string& directory);

/// Whether the directory has a manifest (an exported model has none).
bool has_manifest(const std::string& directory);

/// Verifies size and checksum of every file in the manifest, and the manifest's own checksum.
/// Throws formats::Error naming the first file that differs, and the tensors in it.
void verify_manifest(const std::string& directory);

}  // namespace weft::train
