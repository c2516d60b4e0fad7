#include "train/checkpoint/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "data/row_selection.h"
#include "formats/safetensors.h"
#include "models/decoding/model_decoder.h"
#include "models/directory.h"
#include "models/generator.h"
#include "models/weights/tensors.h"
#include "train/optimizer/lora_run.h"

namespace weft::train {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "checkpoint-";
constexpr auto kOptimizer = "/training/optimizer.safetensors";
constexpr auto kCarriedState = "/training/carried_state.safetensors";
constexpr auto kWeights = "/training/weights.safetensors";  // only if the model is an average

void write_plain(const std::string& path, std::string_view text) {
  FileWriter writer(path, FileWriter::Mode::kPlain);
  writer.write(text);
  writer.commit();
}

/// A flat tensor, as `number` of CheckpointParts::flat_tensors.
struct Flat {
  std::string name;
  std::size_t number = 0;
};

/// One parameter's part of a flat tensor, in the parameter's shape. Collects it from all ranks if
/// parameters are sharded.
at::Tensor whole_of(const CheckpointParts& parts, std::size_t number, const ParameterEntry& entry) {
  const auto flat = parts.flat_tensors()[number];
  return parts.collector == nullptr ? FlatParameters::parameter_view(flat, entry)
                                    : parts.collector->collect(flat, number, entry);
}

// Writes flat tensors of the trained part, one tensor per parameter: `<flat>.<parameter>`. Each
// rank writes its own elements, if all can.
void write_flat_tensors(const std::string& path,
                        const CheckpointParts& parts,
                        const std::vector<Flat>& flats) {
  at::Tensor kept;  // the one that is being written, on the host
  std::vector<formats::NamedTensor> tensors;
  std::vector<ShardCollector::FileTensor> placed;
  for (const auto& flat : flats) {
    for (const auto& entry : parts.flat_parameters.entries()) {
      if (!entry.is_trained) {
        continue;
      }
      const auto read = [&kept, &parts, &entry, number = flat.number] {
        kept = whole_of(parts, number, entry).cpu();
        return models::view_of(kept).bytes;
      };
      tensors.push_back({.name = flat.name + "." + entry.name,
                         .view = {.dtype = formats::DType::kF32,
                                  .shape = entry.parameter.sizes().vec(),
                                  .bytes = {}},
                         .read = read});
      placed.push_back({.number = flat.number, .entry = &entry});
    }
  }
  if (parts.collector != nullptr) {
    const auto positions = formats::reserve_safetensors(path, tensors);
    for (std::size_t i = 0; i < placed.size(); ++i) {
      placed[i].position = positions[i];
    }
    if (parts.collector->write(path, placed, parts.flat_tensors())) {
      return;
    }
  }
  formats::write_safetensors(path, tensors, {{"format", "pt"}}, FileWriter::Mode::kPlain);
}

// Reads the elements that this rank owns.
void read_flat_tensors(const std::string& path,
                       const FlatParameters& flat_parameters,
                       const std::vector<std::pair<std::string, at::Tensor>>& flats) {
  const at::NoGradGuard no_grad;
  const formats::SafetensorsFile file(path);
  for (const auto& [flat_name, flat] : flats) {
    for (const auto& entry : flat_parameters.entries()) {
      if (!entry.is_trained) {
        continue;
      }
      const auto name = flat_name + "." + entry.name;
      const auto& view = file.at(name);
      if (view.dtype != formats::DType::kF32 || view.shape != entry.parameter.sizes().vec()) {
        throw formats::Error(file.path() + ": " + name +
                             " differs from the model in shape or dtype");
      }
      // from_blob requires non-const memory; it is only read.
      auto* const bytes = const_cast<std::byte*>(view.bytes.data());
      const auto stored = at::from_blob(bytes, {entry.count}, at::kFloat);
      for (const auto& part : flat_parameters.owned_parts(entry)) {
        flat.narrow(0, part.begin, part.range.count)
            .copy_(stored.narrow(0, part.range.begin, part.range.count));
      }
    }
  }
}

/// Number of ranks whose own moments the file has; 1 if they had the same.
int saved_ranks_of(const formats::SafetensorsFile& file) {
  int ranks = 1;
  for (const auto& [name, view] : file.tensors()) {
    int rank = 0;
    if (name.starts_with("rank_") &&
        std::from_chars(name.data() + 5, name.data() + name.size(), rank).ec == std::errc()) {
      ranks = std::max(ranks, rank + 1);
    }
  }
  return ranks;
}

void write_carried_state(const std::string& path, const std::map<std::string, at::Tensor>& state) {
  std::vector<at::Tensor> kept;  // storage of the views below
  std::vector<formats::NamedTensor> tensors;
  for (const auto& [name, tensor] : state) {
    kept.push_back(tensor.cpu().contiguous());
    tensors.push_back({name, models::view_of(kept.back())});
  }
  formats::write_safetensors(path, tensors, {{"format", "pt"}}, FileWriter::Mode::kPlain);
}

// Writes the model's generator as a complete model directory.
void write_generator(const std::string& directory,
                     const CheckpointParts& parts,
                     const models::ParameterSource& source) {
  if (models::generator_of(parts.model) != nullptr) {
    const auto below = models::generator_directory(directory);
    models::save_generator(directory, parts.model, formats::DType::kF32, source);
    parts.tokenizer.save(below, parts.model.options().length);
    flush_directory(below);
  }
}

void write_files(const std::string& run_directory,
                 const std::string& directory,
                 const CheckpointParts& parts,
                 const TrainState& state) {
  make_directories(directory + "/training");
  const models::ParameterSource source = [&](const std::string& name) {
    const auto& entry = parts.flat_parameters.at(name);
    const bool uses_ema = entry.is_trained && parts.ema.defined();
    return whole_of(parts, uses_ema ? parts.moments.size() + 1 : 0, entry);
  };
  if (!parts.generation_config.empty() && models::can_generate(parts.model)) {
    write_plain(directory + "/" + models::kGenerationConfig, parts.generation_config);
  }
  models::save_model(directory, parts.model, formats::DType::kF32,
                     parts.lora == nullptr ? source : models::merged(*parts.lora, source));
  if (parts.lora != nullptr) {
    write_lora(directory, parts.model.options(), *parts.lora, source);
  }
  write_generator(directory, parts, source);
  parts.tokenizer.save(directory, parts.model.options().length);
  write_plain(directory + "/weft.yaml", parts.resolved_config);
  if (fs::exists(run_directory + data::kSplitRecord)) {
    write_plain(directory + data::kSplitRecord, read_file(run_directory + data::kSplitRecord));
  }
  objectives::write_decision_threshold(directory, state.decision);
  std::vector<Flat> moments;
  for (std::size_t i = 0; i < parts.moments.size(); ++i) {
    moments.push_back({.name = parts.moments[i].first, .number = i + 1});
  }
  write_flat_tensors(directory + kOptimizer, parts, moments);
  if (parts.ema.defined()) {
    write_flat_tensors(directory + kWeights, parts, {{.name = "weight", .number = 0}});
  }
  if (!parts.carried_state.empty()) {
    write_carried_state(directory + kCarriedState, parts.carried_state);
  }
  write_plain(directory + "/training/state.json", to_json(state));
  write_manifest(directory);
  flush_directory(directory + "/training");
  flush_directory(directory);
}

// Renames the finished directory into place. An existing checkpoint of that name is swapped
// atomically and then removed.
void move_into_place(const std::string& from, const std::string& to) {
  if (!fs::exists(to)) {
    rename_and_flush(from, to);
    return;
  }
  if (exchange_and_flush(from, to)) {
    remove_tree(from);
    return;
  }
  // No exchange on this file system: the older one is moved aside first. If it is left alone,
  // RunDirectory::remove_leftovers restores it.
  const auto aside = to + kReplaced;
  rename_and_flush(to, aside);
  rename_and_flush(from, to);
  remove_tree(aside);
}

void check_free_space(const std::string& directory, int64_t bytes) {
  const auto free = free_bytes(directory);
  if (free < bytes) {
    throw FileError(str_cat(directory, ": not enough disk space for a checkpoint: it needs up to ",
                            format_bytes(static_cast<double>(bytes)), ", ",
                            format_bytes(static_cast<double>(free)), " are free"));
  }
}

std::optional<int64_t> step_of(const std::string& name) {
  int64_t step = 0;
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const auto* const end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + kPrefix.size(), end, step);
  return result.ec == std::errc() && result.ptr == end ? std::optional(step) : std::nullopt;
}

ResumePoint read_checkpoint(const std::string& directory) {
  verify_manifest(directory);
  return {.directory = directory, .state = read_state(directory + "/training/state.json")};
}

}  // namespace

std::vector<at::Tensor> CheckpointParts::flat_tensors() const {
  std::vector<at::Tensor> flats = {master};
  for (const auto& moment : moments) {
    flats.push_back(moment.second);
  }
  if (ema.defined()) {
    flats.push_back(ema);
  }
  return flats;
}

int64_t expected_checkpoint_bytes(const CheckpointParts& parts) {
  constexpr int64_t kBytesPerFp32 = 4;
  constexpr int64_t kBytesPerToken = 128;  // per vocabulary entry, in all files of the tokenizer
  constexpr int64_t kBytesPerTensorName = 512;  // per tensor, in headers and manifest
  constexpr int64_t kBytesOfConfigs = 1 << 16;  // configs, state
  auto flats = static_cast<int64_t>(parts.moments.size());
  flats += (parts.ema.defined() ? 1 : 0) + (parts.lora != nullptr ? 1 : 0);
  int64_t unaltered = 0;  // tensors that are written as they are
  for (const auto& [name, tensor] : parts.carried_state) {
    unaltered += static_cast<int64_t>(tensor.nbytes());
  }
  for (const auto& buffer : parts.model.buffers()) {
    unaltered += static_cast<int64_t>(buffer.nbytes());
  }
  const auto names = static_cast<int64_t>(parts.flat_parameters.entries().size()) * (flats + 1);
  // A generator stores the shared embeddings and the tokenizer again.
  const int64_t models = models::generator_of(parts.model) != nullptr ? 2 : 1;
  return kBytesPerFp32 * (models * parts.flat_parameters.parameters() +
                          flats * parts.flat_parameters.trained_parameters()) +
         models * (kBytesPerToken * parts.tokenizer.size() + kBytesOfConfigs) +
         kBytesPerTensorName * names + unaltered;
}

std::string checkpoint_name(int64_t step) { return str_cat(kPrefix, step); }

void remove_quietly(const std::string& path) {
  try {
    remove_tree(path);
  } catch (const FileError& error) {
    log::warning(str_cat("[run] ", error.what()));
  }
}

std::string save_checkpoint(const std::string& run_directory,
                            const CheckpointParts& parts,
                            const TrainState& state) {
  const auto final_path = run_directory + "/" + checkpoint_name(state.progress.steps);
  const auto temporary = final_path + ".tmp";
  remove_tree(temporary);
  check_free_space(run_directory, expected_checkpoint_bytes(parts));
  try {
    write_files(run_directory, temporary, parts, state);
    move_into_place(temporary, final_path);
  } catch (const fs::filesystem_error& error) {
    remove_quietly(temporary);
    throw FileError(str_cat(temporary, ": cannot list: ", error.code().message()));
  } catch (...) {
    remove_quietly(temporary);
    throw;
  }
  return final_path;
}

void load_weights(const std::string& checkpoint, FlatParameters& flat_parameters) {
  const auto path = checkpoint + kWeights;
  if (fs::exists(path)) {
    read_flat_tensors(path, flat_parameters, {{"weight", flat_parameters.trained_master()}});
    flat_parameters.refresh_compute_copy();
  }
}

std::string moment_name(const std::string& name, int rank) {
  return rank == 0 ? name : str_cat("rank_", rank, ".", name);
}

void load_moments(const std::string& checkpoint,
                  const FlatParameters& flat_parameters,
                  const std::vector<std::pair<std::string, at::Tensor>>& moments,
                  int rank) {
  const auto path = checkpoint + kOptimizer;
  const int saved_ranks = saved_ranks_of(formats::SafetensorsFile(path));
  auto own = moments;
  for (auto& [name, tensor] : own) {
    name = moment_name(name, rank % saved_ranks);
  }
  read_flat_tensors(path, flat_parameters, own);
}

bool has_moment(const std::string& checkpoint, const std::string& name) {
  const formats::SafetensorsFile file(checkpoint + kOptimizer);
  return std::any_of(file.tensors().begin(), file.tensors().end(),
                     [&](const auto& tensor) { return tensor.first.starts_with(name + "."); });
}

std::map<std::string, at::Tensor> load_carried_state(const std::string& checkpoint) {
  std::map<std::string, at::Tensor> state;
  if (fs::exists(checkpoint + kCarriedState)) {
    const formats::SafetensorsFile file(checkpoint + kCarriedState);
    for (const auto& [name, view] : file.tensors()) {
      state[name] = models::tensor_of(view).clone();
    }
  }
  return state;
}

std::vector<int64_t> checkpoint_steps(const std::string& run_directory) {
  std::vector<int64_t> steps;
  std::error_code error;
  if (fs::status(run_directory, error).type() == fs::file_type::not_found) {
    return steps;
  }
  for (const auto& name : list_directory(run_directory)) {
    const auto step = step_of(name);
    std::error_code ignored;
    if (step && fs::is_directory(str_cat(run_directory, "/", name), ignored)) {
      steps.push_back(*step);
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::optional<ResumePoint> newest_valid_checkpoint(const std::string& run_directory) {
  auto steps = checkpoint_steps(run_directory);
  std::reverse(steps.begin(), steps.end());
  for (const auto step : steps) {
    try {
      return read_checkpoint(run_directory + "/" + checkpoint_name(step));
    } catch (const UserError& error) {
      log::warning(str_cat("[checkpoint] skipped: ", error.what()));
    }
  }
  return std::nullopt;
}

ResumePoint open_checkpoint(const std::string& path) {
  if (!fs::is_directory(path)) {
    throw UserError(path +
                    ": does not exist, must be a checkpoint, a run directory, `auto` or `never`");
  }
  if (has_manifest(path)) {
    return read_checkpoint(path);
  }
  auto found = newest_valid_checkpoint(path);
  if (!found) {
    throw UserError(path + ": no complete checkpoint to resume from");
  }
  return *std::move(found);
}

void remove_checkpoint(const std::string& directory) {
  const auto removed = directory + ".old.tmp";
  remove_tree(removed);
  rename_and_flush(directory, removed);
  remove_tree(removed);
}

}  // namespace weft::train
