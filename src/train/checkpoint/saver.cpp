#include "train/checkpoint/saver.h"

#include <cstdint>
#include <system_error>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

namespace weft::train {

namespace {

// Beside the copy: the tensors of a file on their way, and what the run itself may yet take.
constexpr int64_t kMargin = int64_t{64} << 20;

/// Every flat tensor of a checkpoint, in one order.
std::vector<at::Tensor> flats_of(const CheckpointParts& parts) {
  std::vector<at::Tensor> flats = {parts.master};
  for (const auto& moment : parts.moments) {
    flats.push_back(moment.second);
  }
  if (parts.average.defined()) {
    flats.push_back(parts.average);
  }
  return flats;
}

}  // namespace

int64_t copied_bytes(const CheckpointParts& parts) {
  int64_t bytes = 0;
  for (const auto& flat : flats_of(parts)) {
    bytes += static_cast<int64_t>(flat.nbytes());
  }
  return bytes;
}

Saver::Saver(const RunDirectory& directory, SaverOptions options)
    : directory_(directory), options_(std::move(options)) {}

Saver::~Saver() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Saver::save(const CheckpointParts& parts, const TrainState& state) const {
  save_checkpoint(directory_.path(), parts, state);
  try {
    directory_.update_links(state.scored, options_.run,
                            options_.keeps_due ? state.rollbacks.due : std::vector<int64_t>{});
  } catch (const FileError& error) {
    log::error(text("[checkpoint] links and older checkpoints stay as they were: ", error.what()));
  }
}

void Saver::save_and_note(const CheckpointParts& parts, const TrainState& state) {
  Saved saved{.step = state.clock.steps};
  try {
    save(parts, state);
  } catch (...) {
    saved.failure = std::current_exception();
  }
  saved_ = saved;
  has_ended_ = true;
}

void Saver::start(const CheckpointParts& parts, const TrainState& state) {
  TORCH_CHECK(!thread_.joinable() && !saved_, "Saver: the save before was not taken");
  if (!options_.is_async || !has_room(parts)) {
    return save_and_note(parts, state);
  }
  auto copy = copied(parts);
  try {
    thread_ = std::thread([this, copy = std::move(copy), state] {
      at::init_num_threads();  // as many as in the run: the same products of the same bits
      save_and_note(copy, state);
    });
  } catch (const std::system_error&) {
    save_and_note(parts, state);  // the system gives no more threads
  }
}

std::optional<Saved> Saver::take() {
  if (thread_.joinable()) {
    thread_.join();
  }
  has_ended_ = false;
  return std::exchange(saved_, std::nullopt);
}

// Whether the tensors have a place to be copied to. Asked for once; without it the run saves
// without copies from then on.
bool Saver::has_room(const CheckpointParts& parts) {
  if (!copies_.empty()) {
    return true;
  }
  const auto wanted = copied_bytes(parts);
  const auto free = options_.free_memory();
  if (free >= wanted + kMargin) {
    try {
      for (const auto& flat : flats_of(parts)) {
        copies_.push_back(at::empty(flat.sizes(), flat.options().device(at::kCPU)));
      }
      return true;
    } catch (const std::exception&) {  // LibTorch has no type of its own for this
      copies_.clear();
    }
  }
  log::warning(text("[checkpoint] no memory for a copy (", byte_size(static_cast<double>(wanted)),
                    ", ", byte_size(static_cast<double>(free)),
                    " are free): the run waits for its saves"));
  options_.is_async = false;
  return false;
}

CheckpointParts Saver::copied(const CheckpointParts& parts) {
  const at::NoGradGuard no_grad;
  const auto flats = flats_of(parts);
  for (std::size_t i = 0; i < flats.size(); ++i) {
    copies_[i].copy_(flats[i]);
  }
  auto copy = parts;
  auto next = copies_.begin();
  copy.master = *next++;
  for (auto& moment : copy.moments) {
    moment.second = *next++;
  }
  if (copy.average.defined()) {
    copy.average = *next++;
  }
  return copy;
}

}  // namespace weft::train
